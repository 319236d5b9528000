"""Archives of a package, which may come from anybody: none fills the memory."""

import lzma
import tarfile
import zlib
from pathlib import Path
from typing import Any, Literal

_FILES = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE)
_NAMES = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE)
_LARGEST_NAME = 1 << 16  # bytes

# What reading one that is broken raises; whichever module finds it, raises what it likes.
BROKEN = (
    tarfile.TarError, EOFError, KeyError, OSError, RecursionError, TypeError, ValueError,
    lzma.LZMAError, zlib.error,
)  # fmt: skip


def open_archive(path: Path, mode: Literal["r", "r:gz"] = "r") -> tarfile.TarFile:
    """Open an archive: of any compression, or of gzip's alone.

    :raises tarfile.ReadError: then or later, for names as long as files and maps of sparse files
    """
    return tarfile.open(path, mode, tarinfo=_Member)


class _Member(tarfile.TarInfo):
    """Refuses what nobody writes who packs plain files: tarfile reads it as a whole."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_Member":
        member = super().frombuf(buf, encoding, errors)
        is_name = member.type in _NAMES and member.size <= _LARGEST_NAME
        if not is_name and member.type not in _FILES:
            raise tarfile.ReadError(f"a member of type {member.type!r}")
        return member

    def _refuse(self, *arguments: Any) -> None:
        raise tarfile.ReadError("a sparse file")

    # Where tarfile begins to read the map of a sparse file, in the three forms of pax.
    _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _refuse
