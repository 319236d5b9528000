"""VNF packages, built from the sources."""

import functools
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from tools.client import kubernetes_source
from tools.client.config import CHECKOUT, CONFIG
from tools.client.log import step

SOURCES = CHECKOUT / "vnf_packages"


_COMMAND = (sys.executable, "-m", "tools.k8s_vnf")


def _run(*words: str) -> None:
    subprocess.run([*_COMMAND, *words], check=True, cwd=CHECKOUT)


def ask_csar(*arguments: str) -> tuple[int, str]:
    """Run a command of `k8s-vnf package`; returns its exit status and its output."""
    command = [*_COMMAND, "package", *arguments]
    ran = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout + ran.stderr


@functools.cache
def registry_image() -> Path:
    """The registry's image as a `docker save` file, from Debian's package."""
    path = CONFIG.build / "private_registry.tar"
    if not path.exists():
        with step("make the registry image"):
            path.parent.mkdir(parents=True, exist_ok=True)
            _run("image", "registry", "-o", str(path))
    return path


def private_registry_csar(files: Mapping[str, Path] | None = None, variant: str = "") -> Path:
    """Build a CSAR of the private registry, with ``files`` and, for the v1 API, the image.

    The v2 API would copy an image for each hook.
    """
    image = {} if variant else {"Files/images/private_registry.tar": registry_image()}
    return build_csar(SOURCES / f"private_registry{variant}", {**image, **(files or {})})


def kubernetes_csar(
    files: Mapping[str, Path] | None = None, overlays: Sequence[str] = (), variant: str = ""
) -> Path:
    """Build a CSAR of the Kubernetes cluster, with ``files`` and ``overlays``.

    If the cloud has a mirror of Kubernetes, the CSAR has the key of its package repository, too.
    """
    source = SOURCES / f"kubernetes{variant}"
    return build_csar(source, {**kubernetes_source.repository_key(), **(files or {})}, overlays)


def build_csar(source: Path, files: Mapping[str, Path], overlays: Sequence[str] = ()) -> Path:
    """Build a package with ``files``, by their paths in the package, and with a new VNFD id.

    Tacker accepts every VNFD id only once, even after its package is deleted.
    """
    vnfd_id = str(uuid.uuid4())
    csar = CONFIG.build / f"{source.name}-{vnfd_id[:8]}.csar"
    options = ["--vnfd-id", vnfd_id, "-o", str(csar)]
    options += [word for to, path in files.items() for word in ("--file", f"{to}={path}")]
    options += [word for overlay in overlays for word in ("--overlay", overlay)]
    with step(f"build the CSAR {source.name}"):
        _run("package", "build", str(source), *options)
    return csar


def image_overlay(image: str, vdus: Sequence[str]) -> str:
    """An overlay whose VDUs have another image."""
    folder = CONFIG.build / f"{'-'.join(vdus)}-{image}"
    (folder / "Definitions").mkdir(parents=True, exist_ok=True)
    nodes = {vdu: {"properties": {"sw_image_data": {"name": image}}} for vdu in vdus}
    for flavour in ("simple", "complex", "podaffinity"):
        path = folder / f"Definitions/kubernetes_df_{flavour}.yaml"
        path.write_text(yaml.safe_dump({"topology_template": {"node_templates": nodes}}))
    return str(folder)
