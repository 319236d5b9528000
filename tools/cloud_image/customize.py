"""Copies an image and changes the copy, with qemu-img and virt-customize."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from tools.cloud_image.recipe import Login, commands
from tools.progress import Progress

# Debian's and Ubuntu's packages that have them.
_PROGRAMS = {"qemu-img": "qemu-utils", "virt-customize": "guestfs-tools"}

_NO_MACHINE = (
    "libguestfs cannot start the machine in which it changes images. Run this as root; where KVM "
    "does not work, set LIBGUESTFS_BACKEND_SETTINGS=force_tcg"
)


class ImageError(Exception):
    """The image cannot be prepared; says what to do."""


def prepare(
    source: Path, output: Path, login: Login, packages: tuple[str, ...], progress: Progress
) -> None:
    """Write ``output``, which is whole or not there.

    :param source: a cloud image of Debian or Ubuntu, in any format of qemu-img
    :param output: in the format qcow2
    :raises ImageError: and the output is as before
    """
    missing = [name for program, name in _PROGRAMS.items() if not shutil.which(program)]
    if missing:
        raise ImageError(f"install {' and '.join(missing)} first (apt-get install)")
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".cloud-image-") as folder:
        image = Path(folder, "image.qcow2")
        recipe = Path(folder, "commands")
        recipe.write_text(commands(login, packages))
        with progress.step(f"copy {source.name}"):
            _run("qemu-img", "convert", "-O", "qcow2", str(source), str(image))
        with progress.step("change the copy"):
            _run("virt-customize", "-a", str(image), "--commands-from-file", str(recipe))
        with progress.step("compress it"):
            packed = Path(folder, "packed.qcow2")
            _run("qemu-img", "convert", "-c", "-O", "qcow2", str(image), str(packed))
        packed.replace(output)


def _run(*argv: str) -> None:
    ran = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if ran.returncode:
        if b"appliance failed to start" in ran.stdout:
            raise ImageError(_NO_MACHINE)
        tail = " ".join(ran.stdout.decode(errors="replace").split()[-60:])
        raise ImageError(f"{argv[0]} ended with status {ran.returncode}: {tail}")
