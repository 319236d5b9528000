"""The bill of materials of a CSAR, in CycloneDX: its drivers, and the packages and images it names.

The same package gives the same bytes: the bill has neither a time nor a serial number.
"""

import json
import lzma
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from mgmt_drivers.cluster.addons import manifests
from mgmt_drivers.cluster.helm import helm
from mgmt_drivers.cluster.load_balancer import haproxy, keepalived
from mgmt_drivers.cluster.monitoring import monitoring
from mgmt_drivers.cluster.storage import nfs
from mgmt_drivers.package_yaml import BadYaml
from mgmt_drivers.registry.provide_image import PUBLIC_IMAGE
from tools.csar import check_kubernetes, contents
from tools.csar.contents import Contents, InMemory
from tools.csar.errors import CsarError
from tools.csar.package import Package, mapping

FILE = "bom.cdx.json"  # the first of a bundle, too
NAME = f"Files/{FILE}"

_DRIVERS = "tacker-mgmt-drivers"
_APACHE, _GPL, _GPL_2 = "Apache-2.0", "GPL-2.0-or-later", "GPL-2.0-only"
# Packages with the licences in their copyright files. The script installs these; of the runtimes
# the one that a request names.
SCRIPT = {
    "kubeadm": _APACHE, "kubectl": _APACHE, "kubelet": _APACHE,
    "conntrack": _GPL, "ethtool": _GPL_2, "socat": _GPL_2,
}  # fmt: skip
RUNTIMES = {"containerd": _APACHE, "docker.io": _APACHE, "docker-cli": _APACHE}
# The driver installs these if a request asks for what they do.
ON_REQUEST = {
    haproxy.PACKAGE: _GPL,
    keepalived.PACKAGE: _GPL,
    nfs.CLIENT_PACKAGE: f"{_GPL} AND BSD-3-Clause",
    nfs.SERVER_PACKAGE: f"{_GPL} AND BSD-3-Clause",
    monitoring.PACKAGE: _APACHE,
    helm.PACKAGE: _APACHE,
}
LICENCES = SCRIPT | RUNTIMES | ON_REQUEST
_REGISTRY = {**RUNTIMES, "apparmor": _GPL_2}
_REGISTRY_MODULES = {"private_registry_mgmt.py", "private_registry_v2.py"}
# The projects' licences: an image has other software beside the project's.
_IMAGES = {
    "docker.io/library/registry": _APACHE,
    "ghcr.io/flannel-io/": _APACHE,
    "registry.k8s.io/": _APACHE,
}
_HUB = "docker.io"
_OF_ANOTHER_KIND = (
    BadYaml, CsarError, tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, LookupError,
    ValueError, AttributeError, TypeError,
)  # fmt: skip
_LONGEST = 1 << 20  # bytes of the list of an archive of images, and of a bundle's bill

Component = dict[str, Any]


def bill(assembled: Contents, drivers: Contents) -> InMemory:
    """Return the bill of a package.

    :param drivers: the files among the package's that are the drivers'
    """
    package = Package(assembled)
    components = [
        *_drivers(drivers), *_packages(package), *_images(package), *_bundles(package.contents),
    ]  # fmt: skip
    return InMemory(NAME, document(_whole(package), components))


def document(whole: Component, components: Sequence[Component]) -> bytes:
    """Return the file of a bill: what it is of, and the components of that."""
    content = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": whole},
        "components": [*components],
    }
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def _whole(package: Package) -> Component:
    top = package.documents.get(str(package.header().get("Entry-Definitions")))
    found = mapping(top, "topology_template", "node_templates", "VNF", "properties")
    name = str(found.get("product_name") or "VNF package")
    whole = component("application", "vnf-package", name, version=found.get("software_version"))
    return whole | ({"publisher": str(found["provider"])} if found.get("provider") else {})


def component(
    kind: str, ref: str, name: str, licence: str = "", version: Any = None, **more: Any
) -> Component:
    made = {"type": kind, "bom-ref": ref, "name": name}
    if version:
        made["version"] = str(version)
    licences = [{"expression": licence}] if " " in licence else [{"license": {"id": licence}}]
    return made | ({"licenses": licences} if licence else {}) | more


def _drivers(files: Contents) -> Iterator[Component]:
    """Give the distribution of the drivers, with its files and their digests."""
    if not files:
        return
    version = None
    with suppress(metadata.PackageNotFoundError):  # packages for the v2 API need no installation
        version = metadata.version(_DRIVERS)
    packed = [
        component("file", f"file:{name}", name, hashes=[digest_of(contents.sha256(source))])
        for name, source in sorted(files.items())
    ]
    yield component("library", _DRIVERS, _DRIVERS, _APACHE, version, components=packed)


def digest_of(sha256: str) -> dict[str, str]:
    return {"alg": "SHA-256", "content": sha256}


def _packages(package: Package) -> Iterator[Component]:
    """Give the packages of machines; the request and the machines' archive set their releases."""
    required: dict[str, str] = {}
    optional: dict[str, str] = {}
    if check_kubernetes.flavours(package):
        optional |= ON_REQUEST
        if check_kubernetes.scripts(package):
            required |= SCRIPT
            optional |= RUNTIMES
    if _has_registry(package):
        optional |= _REGISTRY
    for scope, found in (("required", required), ("optional", optional)):
        for name, licence in sorted(found.items()):
            yield component("application", f"package:{name}", name, licence, scope=scope)


def _has_registry(package: Package) -> bool:
    files = (
        str(mapping(artifact).get("file"))
        for flavour in package.flavours
        for artifact in mapping(flavour.nodes, "VNF", "artifacts").values()
    )
    return any(PurePosixPath(file).name in _REGISTRY_MODULES for file in files)


def _images(package: Package) -> Iterator[Component]:
    """Give the images of containers that manifests name, or that archives hold."""
    named: dict[str, list[str]] = {PUBLIC_IMAGE: []} if _has_registry(package) else {}
    for file in sorted(package.contents):
        for reference in _references(package.contents, file):
            named.setdefault(reference, []).append(file)
    for reference, files in sorted(named.items()):
        properties = [{"name": f"{_DRIVERS}:file", "value": file} for file in files]
        yield image(reference, **({"properties": properties} if files else {}))


def _references(files: Contents, name: str) -> list[str]:
    try:
        if contents.is_yaml(name) and not name.startswith(("Definitions/", "BaseHOT/")):
            return [*manifests.images_in(contents.read(files[name]))]
        if name.endswith(".tar"):
            with files[name].open("rb") as stream, tarfile.open(fileobj=stream) as archive:
                listed = archive.extractfile("manifest.json")
                entries = json.loads(listed.read(_LONGEST)) if listed else []
            tags = {tag for entry in entries for tag in entry.get("RepoTags") or []}
            return sorted(tag for tag in tags if isinstance(tag, str))
    except _OF_ANOTHER_KIND:
        pass
    return []


def _bundles(files: Contents) -> Iterator[Component]:
    """Give the bundles of a registry, each with the components of its own bill."""
    for name in sorted(name for name in files if name.endswith(".tar")):
        with suppress(*_OF_ANOTHER_KIND):
            own = _bill_in(files, name)
            whole, components = own["metadata"]["component"], own["components"]
            nested = [{**each, "bom-ref": f"{name}#{each['bom-ref']}"} for each in components]
            yield {**whole, "bom-ref": f"bundle:{name}", "components": nested}


def _bill_in(files: Contents, name: str) -> Any:
    """Read the bill with which a bundle begins; raises one of _OF_ANOTHER_KIND if none is there."""
    with files[name].open("rb") as stream, tarfile.open(fileobj=stream) as archive:
        first = archive.next()
        if first is None or first.name != FILE:
            raise LookupError(name)
        content = archive.extractfile(first)
        return json.loads(content.read(_LONGEST)) if content else {}


def image(reference: str, **more: Any) -> Component:
    tagged, _, digest = reference.partition("@")
    repository, colon, tag = tagged.rpartition(":")
    if not colon or "/" in tag:  # the colon of a port
        repository, tag = tagged, ""
    host, slash, path = repository.partition("/")
    if not slash or not {".", ":"} & {*host}:
        host, path = _HUB, repository if slash else f"library/{repository}"
    version = digest or tag
    licence = next((_IMAGES[p] for p in _IMAGES if f"{host}/{path}".startswith(p)), "")
    at = f"@{quote(version, safe='')}" if version else ""
    purl = f"pkg:docker/{quote(path)}{at}?repository_url={quote(host, safe='')}"
    return component("container", f"image:{reference}", repository, licence, version, **more) | {
        "purl": purl
    }
