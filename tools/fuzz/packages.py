"""The VNF packages that requests are read against: the repository's own, with files they lack.

Of the BaseHOTs only names and types of the resources are kept at which the drivers look: they are
read at each request.
"""

import contextlib
import functools
import io
import json
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from mgmt_drivers.cluster.cluster_params import NAME as KUBERNETES
from mgmt_drivers.registry.registry_params import NAME as REGISTRY
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.tacker import vnfd
from mgmt_drivers.testing.simulated_cloud import helm_archive
from tools.csar import overlay
from tools.csar.build import OVERLAYS, PACKAGES
from tools.csar.contents import Contents
from tools.fuzz import keys
from tools.fuzz.seeds import FLOATING_IP, RESTORED, Seed

# Resources of BaseHOTs.
_LOOKED_AT = ("OS::Neutron::Port", "OS::Cinder::Volume", "OS::Nova::ServerGroup")
_READ = ("Definitions/", "Files/", "Scripts/")
_HTPASSWD = b"user01:$2y$05$" + b"a" * 53 + b"\n"
_CNI = b"""\
apiVersion: v1
kind: ConfigMap
metadata: {name: "pods @POD_CIDR@"}
data:
  image: registry.example.com/cni:1
"""


def image_archive(tags: Any) -> bytes:
    """A file as `docker save` writes it, as far as the drivers read it."""
    manifest = json.dumps([{"Config": "c", "RepoTags": tags, "Layers": []}]).encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo("manifest.json")
        entry.size = len(manifest)
        archive.addfile(entry, io.BytesIO(manifest))
    return buffer.getvalue()


def backup(told: Mapping[str, str]) -> bytes:
    """A backup of etcd, as far as the drivers read it."""
    data = json.dumps(told).encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        entry = tarfile.TarInfo("metadata.json")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


BACKUP = {
    "release": "v1.20.2", "pod_cidr": "192.168.0.0/16", "cluster_cidr": "10.199.187.0/24",
}
# By the names that the seeds have.
ADDED = {
    "Files/key.asc": b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n",
    "Files/other.asc": b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n",
    "Files/cni.yaml": _CNI,
    "Files/registries/ca.crt": keys.CERTIFICATE,
    "Files/tls.crt": keys.CERTIFICATE,
    "Files/tls.key": keys.TLS_KEY,
    "Files/htpasswd": _HTPASSWD,
    RESTORED: backup(BACKUP),
    "Files/images/private_registry.tar": image_archive(["registry:2"]),
    "Files/helm.tar.gz": helm_archive(),
    "Scripts/install_helm.sh": b"#!/bin/sh\n",
}


@dataclass(frozen=True)
class Package:
    """A package on disk, as the drivers get it."""

    folder: Path

    def request(self, seed: Seed, params: Any) -> LcmRequest:
        """An instantiate request of the seed's flavour, still without machines.

        Where the seed is a modification, that of the cluster before.
        """
        is_modification = seed.cluster is not None
        given = {KUBERNETES: seed.cluster} if is_modification else {seed.parameter: params}
        cps, aspects = _flavour(self.folder, seed.flavour)
        return LcmRequest(
            operation="instantiate",
            vnf_instance_id="vnf-1",
            package=self.folder,
            flavour=seed.flavour,
            cps=cps,
            aspects=aspects,
            additional_params=given,
            stack_id="vnf",
        )

    @contextlib.contextmanager
    def having(self, files: Mapping[str, bytes]) -> Iterator[None]:
        """With other contents of some files, for a while."""
        before = {name: (self.folder / name).read_bytes() for name in files}
        for name, content in files.items():
            (self.folder / name).write_bytes(content)
        try:
            yield
        finally:
            for name, content in before.items():
                (self.folder / name).write_bytes(content)


@functools.cache
def _flavour(folder: Path, name: str) -> tuple[Mapping[str, str], frozenset[str]]:
    """CPs and scaling aspects of the VNFD, which is not read anew for each request."""
    definition = vnfd.of_flavour(folder, name)
    return vnfd.cps(definition), vnfd.aspects(definition)


class Packages:
    """The packages that seeds need, written below a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, Package] = {}

    def of(self, seed: Seed) -> Package:
        is_registry = seed.parameter == REGISTRY
        name = "private_registry" if is_registry else "kubernetes"
        key = f"{name}_storage" if seed.has_storage else name
        if key not in self._made:
            contents = overlay.of_package(PACKAGES / name)
            if seed.has_storage:
                contents = overlay.lay(contents, OVERLAYS / "storage")
            self._made[key] = _written(contents, self._folder / key)
        return self._made[key]


def _written(contents: Contents, folder: Path) -> Package:
    files = {n: source.read_bytes() for n, source in contents.items() if n.startswith(_READ)}
    files = {**files, **ADDED, **_templates(contents)}
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return Package(folder)


def _templates(contents: Contents) -> dict[str, bytes]:
    """One template of each flavour, and one of all that are nested in it."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, source in contents.items():
        place = PurePosixPath(name)
        if place.parts[0] == "BaseHOT" and place.suffix == ".yaml":
            resources = yaml.safe_load(source.read_bytes()).get("resources", {})
            types = {
                n: {"type": r["type"]} for n, r in resources.items() if r["type"] in _LOOKED_AT
            }
            found[f"{place.parent}/all.yaml"] |= types
            if place.parent.name != "nested":
                found[f"{place.parent}/all.yaml"][FLOATING_IP] = {"type": "OS::Neutron::FloatingIP"}
    return {name: yaml.safe_dump({"resources": types}).encode() for name, types in found.items()}
