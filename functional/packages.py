"""The packages under test, built from the sources."""

import functools
import json
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from functional import kubernetes
from functional.config import CONFIG, HERE
from functional.report import step

_CHECKOUT = HERE.parent
_PACKAGES = _CHECKOUT / "vnf_packages"
CNF_MANIFEST = "Files/kubernetes/deployment.yaml"


def _tool(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", *arguments], check=True, cwd=_CHECKOUT)


@functools.cache
def registry_image() -> Path:
    """The registry's image as a `docker save` file, from Debian's package."""
    path = CONFIG.build / "private_registry.tar"
    if not path.exists():
        with step("make the registry image"):
            path.parent.mkdir(parents=True, exist_ok=True)
            _tool("tools.registry_image", "-o", str(path))
    return path


def private_registry_csar(files: Mapping[str, Path] | None = None, variant: str = "") -> Path:
    """A CSAR of the private registry, with ``files`` and, for the v1 API, the image inside.

    The v2 API would copy an image for each hook.
    """
    image = {} if variant else {"Files/images/private_registry.tar": registry_image()}
    return _csar(_PACKAGES / f"private_registry{variant}", {**image, **(files or {})})


def kubernetes_csar(
    files: Mapping[str, Path] | None = None, overlays: Sequence[str] = (), variant: str = ""
) -> Path:
    """A CSAR of the Kubernetes cluster, with ``files`` inside and ``overlays`` laid over it.

    Among the files is the key of the package repository, where the cloud has one of its own.
    """
    source = _PACKAGES / f"kubernetes{variant}"
    return _csar(source, {**kubernetes.repository_key(), **(files or {})}, overlays)


def workers_with_volumes() -> str:
    """An overlay whose workers are machines that can mount NFS, whatever the host's kernel is."""
    folder = CONFIG.build / "workers-with-volumes"
    (folder / "Definitions").mkdir(parents=True, exist_ok=True)
    properties = {"sw_image_data": {"name": CONFIG.vm_image}}
    worker = {"node_templates": {"workerNode": {"properties": properties}}}
    for flavour in ("simple", "complex"):
        path = folder / f"Definitions/kubernetes_df_{flavour}.yaml"
        path.write_text(yaml.safe_dump({"topology_template": worker}))
    return str(folder)


def floating_ips(flavour: str) -> dict[str, Path]:
    """The package's templates of a flavour, with a floating IP ``<VDU>_fip`` on each machine."""
    made = {}
    for role, vdu, port in (
        ("master", "masterNode", "masterNode_CP1"), ("worker", "workerNode", "workerNode_CP2")
    ):
        name = f"BaseHOT/{flavour}/nested/{flavour}_nested_{role}.yaml"
        template = yaml.safe_load((_PACKAGES / "kubernetes" / name).read_text())
        template["heat_template_version"] = str(template["heat_template_version"])
        template["resources"][f"{vdu}_fip"] = {
            "type": "OS::Neutron::FloatingIP",
            "properties": {
                "floating_network": CONFIG.external_network,
                "port_id": {"get_resource": port},
            },
        }
        CONFIG.build.mkdir(parents=True, exist_ok=True)
        path = CONFIG.build / f"floating-{flavour}-{role}.yaml"
        path.write_text(yaml.safe_dump(template))
        made[name] = path
    return made


def cnf_csar(image: str) -> Path:
    """A CSAR of web servers as pods of ``image``, for the Kubernetes VIM."""
    manifest = CONFIG.build / "cnf.yaml"
    manifest.write_text(json.dumps(kubernetes.deployment("cnf-web", image, replicas=2)))
    return _csar(HERE / "cnf_package", {CNF_MANIFEST: manifest})


def _csar(source: Path, files: Mapping[str, Path], overlays: Sequence[str] = ()) -> Path:
    """Build a package with ``files`` added, under a VNFD id of its own.

    Tacker takes every id only once, even when the package that had it is deleted.
    """
    vnfd_id = str(uuid.uuid4())
    csar = CONFIG.build / f"{source.name}-{vnfd_id[:8]}.csar"
    options = ["--vnfd-id", vnfd_id, "-o", str(csar)]
    options += [word for to, path in files.items() for word in ("--file", f"{to}={path}")]
    options += [word for overlay in overlays for word in ("--overlay", overlay)]
    with step(f"build the CSAR {source.name}"):
        _tool("tools.csar", "build", str(source), *options)
    return csar
