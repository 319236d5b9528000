"""Makes the registry's container image, as a file for a package's Files/images/."""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mgmt_drivers.package import sha256_of
from tools import command
from tools.registry_image import image

DEFAULT = (
    Path(__file__).parents[2] / "vnf_packages/private_registry/Files/images/private_registry.tar"
)


def _make(arguments: argparse.Namespace) -> int:
    """Make the image; returns an exit status."""
    output: Path = arguments.output
    _write(output, image.pull() if arguments.pull else [from_debian(arguments.deb)])
    size, digest = output.stat().st_size, sha256_of(output)
    print(f"{output}: {image.TAG}, {size} bytes, SHA-256 {digest}")
    return 0


def from_debian(debs: Sequence[Path]) -> bytes:
    """Return the image made from these packages, or from those that apt fetches.

    :raises ImageError: the packages cannot be had, or are not the right ones
    """
    with tempfile.TemporaryDirectory() as folder:
        if not debs:
            print(f"fetching {', '.join(image.PACKAGES)}", file=sys.stderr, flush=True)
            debs = image.download(Path(folder))
        return image.pack(debs)


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    """Write the file, which appears complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        made = Path(folder, path.name)
        with made.open("wb") as stream:
            stream.writelines(pieces)
        made.chmod(0o644)
        made.replace(path)


def parsers() -> Iterator[command.Parser]:
    text = "Make the registry's container image, as a file for a package's Files/images/."
    parser = command.part("image registry", text, _make, (image.ImageError, OSError))
    parser.add_argument(
        "-o", "--output", type=command.output_file, default=DEFAULT, metavar="FILE",
        help="default: in the sources of the package, vnf_packages/private_registry",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--deb",
        type=command.existing_file,
        nargs="+",
        default=[],
        metavar="FILE",
        help="Debian packages to use, docker-registry and libc6; default: apt fetches them",
    )
    source.add_argument(
        "--pull", action="store_true", help=f"take {image.TAG} from Docker Hub instead"
    )
    yield parser
