"""The parameters ``helm`` and ``helm_installation_script_path``: Helm on control-plane nodes."""

import hashlib
import itertools
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path

from mgmt_drivers.package import BROKEN_ARCHIVE
from mgmt_drivers.params.declaration import ObjectOf, param
from mgmt_drivers.params.kinds import PackageFile, TextKind
from mgmt_drivers.params.reader import Reader

NAME = "helm"
SCRIPT = "helm_installation_script_path"  # upstream's name

# Where the program lies in an archive of Helm's project: linux-amd64/helm.
_PROGRAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}/helm")
_MOST_ENTRIES = 100  # of an archive; the project's have four
_LARGEST = 512 << 20  # bytes of an entry; the program has some sixty million


@dataclass(frozen=True)
class HelmArchive:
    """An archive as Helm's project publishes it; ``member`` is the program in it."""

    path: Path
    member: str
    sha256: str


class _HelmArchiveFile(TextKind[HelmArchive | None]):
    words = PackageFile.words

    def take(self, text: str, reader: Reader) -> HelmArchive | None:
        path = PackageFile().take(text, reader)
        if path is None:
            return None
        try:
            member = _program_in(path)
        except BROKEN_ARCHIVE:
            member = None
        if member is None:
            reader.refuse(
                "is not an archive of Helm as its project publishes it: a .tar.gz with a program "
                "such as linux-amd64/helm"
            )
            return None
        return HelmArchive(path, member, hashlib.sha256(path.read_bytes()).hexdigest())


@dataclass(frozen=True)
class Helm:
    """Where nodes get Helm from: an archive, a script of the package, or else their packages."""

    archive: HelmArchive | None = param(
        "archive_path", _HelmArchiveFile(), example="Files/helm-v3.19.0-linux-amd64.tar.gz",
        meaning="archive of Helm as its project publishes it",
        left_out="nodes install the package ``helm`` from their package sources",
    )
    script: Path | None = None

    @property
    def is_packaged(self) -> bool:
        """Whether it is the package ``helm`` of the machines' package sources."""
        return self.archive is None and self.script is None


HELM = ObjectOf(Helm)


def helm_of(helm: Helm | None, script: Path | None, reader: Reader) -> Helm | None:
    """Helm as both parameters ask for it; None if neither does.

    :param reader: of the object that holds both
    """
    if helm and script:
        reader.at(SCRIPT).refuse(
            f"stands beside {NAME}, which says where Helm comes from: give one"
        )
    return Helm(script=script) if script else helm


def _program_in(path: Path) -> str | None:
    """The name of the only program ``helm`` in an archive, if there is one."""
    found = []
    with tarfile.open(path, "r:gz") as archive:
        for entry in itertools.islice(archive, _MOST_ENTRIES):
            if entry.size > _LARGEST:
                return None
            if entry.isfile() and _PROGRAM.fullmatch(entry.name):
                found.append(entry.name)
    return found[0] if len(found) == 1 else None
