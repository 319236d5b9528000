"""The registry's programs, out of Debian's packages."""

import io
import re
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.registry_image.errors import ImageError

PACKAGES = ("docker-registry", "libc6")

_REGISTRY = "usr/bin/docker-registry"
# Nothing but libc is linked in. A release that merged /lib into /usr packs it under usr/.
_LIBRARY = re.compile(
    r"(?:usr/)?lib/(?P<triplet>[^/]+-linux-gnu)/(?P<name>ld-linux[^/]*|libc\.so\.6)"
)
_LOADER_LINK = re.compile(r"(?:usr/)?(?P<link>lib(?:64)?/ld-linux[^/]*)")
_GO_ARCHITECTURES = {"aarch64-linux-gnu": "arm64", "x86_64-linux-gnu": "amd64"}


@dataclass
class Programs:
    """What the image needs: files and symbolic links by path, without a leading slash."""

    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    triplet: str = ""

    @property
    def architecture(self) -> str:
        """The architecture as Docker names it."""
        return _GO_ARCHITECTURES[self.triplet]


def download(folder: Path) -> list[Path]:
    """Fetch the packages into ``folder`` with apt, and return their files.

    :raises ImageError: apt cannot
    """
    # apt drops root to fetch, which the temporary folder of root does not let it.
    options = ["-qq", "-o", "APT::Sandbox::User=root"]
    _run(["apt-get", *options, "download", *PACKAGES], folder)
    return sorted(folder.glob("*.deb"))


def file_tar(deb: Path) -> bytes:
    """Return the tar of a binary package's files.

    :raises ImageError: it is no Debian package
    """
    if not deb.is_file():
        raise ImageError(f"{deb}: no such file")
    return _run(["dpkg-deb", "--fsys-tarfile", str(deb.resolve())], deb.parent)


def select_programs(tars: Sequence[bytes]) -> Programs:
    """Return the registry, libc and its loader from the files of packages.

    :raises ImageError: one of them is missing, or is for an architecture not known here
    """
    programs = Programs()
    for tar in tars:
        with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
            for member in archive:
                _add_member(programs, archive, member)
    loaders = [name for name in programs.files if "/ld-linux" in name]
    if not ("bin/registry" in programs.files and len(programs.files) == 3 and loaders):
        raise ImageError(f"the packages do not hold {_REGISTRY}, libc.so.6 and its loader")
    if programs.triplet not in _GO_ARCHITECTURES:
        raise ImageError(f"{programs.triplet}: not one of {', '.join(_GO_ARCHITECTURES)}")
    programs.links = {link: f"/{loaders[0]}" for link in programs.links}
    return programs


def _add_member(programs: Programs, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    name = member.name.removeprefix("./")
    library, loader_link = _LIBRARY.fullmatch(name), _LOADER_LINK.fullmatch(name)
    if member.issym() and loader_link:
        programs.links[loader_link["link"]] = member.linkname
    elif member.isfile() and name == _REGISTRY:
        programs.files["bin/registry"] = _content(archive, member)
    elif member.isfile() and library:
        programs.files[f"lib/{library['triplet']}/{library['name']}"] = _content(archive, member)
        programs.triplet = library["triplet"]


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(member)
    assert stream is not None  # members other than files do not get here
    return stream.read()


def _run(command: Sequence[str], folder: Path) -> bytes:
    try:
        return subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout
    except FileNotFoundError as error:
        raise ImageError(f"{command[0]} is not here; give the packages with --deb") from error
    except subprocess.CalledProcessError as error:
        stderr = error.stderr.decode(errors="replace").strip()
        raise ImageError(
            f"{' '.join(command)}: exit status {error.returncode}: {stderr}\n"
            "Run 'apt-get update', or give the packages with --deb"
        ) from error
