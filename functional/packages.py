"""The packages under test, built from the sources."""

import functools
import shutil
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path

from functional.config import CONFIG, HERE
from functional.report import step

_CHECKOUT = HERE.parent
_PACKAGES = _CHECKOUT / "vnf_packages"
_VNFD_ID = "5bd1a7c8-2f0c-4f0a-9a2e-6f3f1c0de3a1"


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


def private_registry_csar(files: Mapping[str, Path] | None = None) -> Path:
    """A CSAR of the private registry, with the image and ``files`` inside.

    Each has a VNFD id of its own: Tacker takes every id only once, even when
    the package that had it is deleted.
    """
    source = CONFIG.build / "private_registry"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(_PACKAGES / "private_registry", source)
    vnfd_id = str(uuid.uuid4())
    for path in (source / "Definitions").iterdir():
        path.write_text(path.read_text().replace(_VNFD_ID, vnfd_id))
    csar = CONFIG.build / f"private_registry-{vnfd_id[:8]}.csar"
    added = {"Files/images/private_registry.tar": registry_image(), **(files or {})}
    options = [word for name, path in added.items() for word in ("--file", f"{name}={path}")]
    with step("build the private registry CSAR"):
        _tool("tools.csar", "build", str(source), *options, "-o", str(csar))
    return csar
