"""The packages under test, built from the sources once for all scenarios."""

import functools
import subprocess
import sys
from pathlib import Path

from functional.config import CONFIG, HERE
from functional.report import step

_CHECKOUT = HERE.parent


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


@functools.cache
def private_registry_csar() -> Path:
    """The CSAR of the private registry, with the image inside."""
    path = CONFIG.build / "private_registry.csar"
    image = f"Files/images/private_registry.tar={registry_image()}"
    with step("build the private registry CSAR"):
        _tool("tools.csar", "build", "private_registry", "--file", image, "-o", str(path))
    return path
