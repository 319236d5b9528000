"""The parameters ``helm`` and ``helm_installation_script_path``: Helm on control-plane nodes."""

import functools
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path

from mgmt_drivers.package import BROKEN_ARCHIVE, ArchiveMember, sha256_of
from mgmt_drivers.params.declaration import ObjectOf, param
from mgmt_drivers.params.kinds import PackageFile, TextKind
from mgmt_drivers.params.reader import Reader

NAME = "helm"
SCRIPT = "helm_installation_script_path"  # upstream's name

# The program's name in an archive of the Helm project, such as linux-amd64/helm.
_PROGRAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}/helm")
_LARGEST = 512 << 20  # bytes of an archive; the program has some sixty million


@dataclass(frozen=True)
class HelmArchive:
    """An archive of the Helm project; ``member`` is the name of the program in the archive."""

    path: Path
    member: str
    sha256: str


class _HelmArchiveFile(TextKind[HelmArchive | None]):
    words = PackageFile.words

    def take(self, text: str, reader: Reader) -> HelmArchive | None:
        path = PackageFile(_LARGEST).take(text, reader)
        if path is None:
            return None
        status = path.stat()
        archive = _read(path, status.st_mtime_ns, status.st_size)
        if archive is None:
            reader.refuse(
                "is not an archive of Helm as its project publishes it: a .tar.gz with a program "
                "such as linux-amd64/helm"
            )
        return archive


@dataclass(frozen=True)
class Helm:
    """The source of Helm: an archive, a script of the VNF package, or the package ``helm``."""

    archive: HelmArchive | None = param(
        "archive_path", _HelmArchiveFile(), example="Files/helm-v3.19.0-linux-amd64.tar.gz",
        meaning="archive of Helm as its project publishes it",
        left_out="nodes install the package ``helm`` from their package sources",
    )
    script: Path | None = None

    @property
    def is_packaged(self) -> bool:
        """Whether Helm is installed as the package ``helm`` from the nodes' package sources."""
        return self.archive is None and self.script is None


HELM = ObjectOf(Helm)


def helm_of(helm: Helm | None, script: Path | None, reader: Reader) -> Helm | None:
    """The source of Helm from both parameters; None if neither is given."""
    if helm and script:
        reader.at(SCRIPT).refuse(f"cannot be combined with {NAME}: give one of them")
    return Helm(script=script) if script else helm


@functools.lru_cache(maxsize=4)
def _read(path: Path, changed: int, size: int) -> HelmArchive | None:
    """Read an archive, which one operation needs several times; None without one ``helm``."""
    try:
        with tarfile.open(path, "r:gz", tarinfo=ArchiveMember) as archive:
            names = [e.name for e in archive if e.isfile() and _PROGRAM.fullmatch(e.name)]
    except BROKEN_ARCHIVE:
        return None
    return HelmArchive(path, names[0], sha256_of(path)) if len(names) == 1 else None
