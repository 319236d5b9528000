"""The files of a package by their names in the CSAR, from a folder or a zip."""

import hashlib
import io
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import yaml

from mgmt_drivers import package_yaml
from tools.csar.errors import CsarError

CHECKOUT = Path(__file__).parents[2]
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold
_CHUNK = 1 << 20
_MOST_ENTRIES, _LARGEST = 10_000, 32 << 30  # files of a CSAR, and their bytes with images of disks
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the other methods know no limit for a piece
_UNICODE_PATH = 0x7075  # a kind of extra field: unzip takes the name in it, and zipfile may not
_FIELD = struct.Struct("<HH")  # the head of an extra field: kind, size
_UNREADABLE = (
    OSError, ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError,
)
_YAML = (".yaml", ".yml")


@dataclass(frozen=True)
class InMemory:
    """A file that exists only in memory."""

    name: str
    content: bytes

    def __str__(self) -> str:
        return self.name

    def read_bytes(self) -> bytes:
        return self.content

    def open(self, mode: str = "rb") -> IO[bytes]:
        return io.BytesIO(self.content)


Source = Path | zipfile.Path | InMemory
Contents = dict[str, Source]


def of_folder(folder: Path) -> Contents:
    """Return the package's files in ``folder``, without leftovers of editors and interpreters.

    :raises CsarError: a link leads out of the folder, or a name does not fit
    """
    found: Contents = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not _is_litter(name):
            if not (_lies_in(path, folder) or (_lies_in(folder, CHECKOUT) and is_ours(path))):
                raise CsarError(
                    f"{path}: leads to {path.resolve()}, which is not the package's; put a copy "
                    "of the file in the place of the link"
                )
            found[name.as_posix()] = path
    return checked(found)


def is_ours(path: Path) -> bool:
    """Say whether a file or folder is one of the checkout, and not hidden."""
    return _lies_in(path, CHECKOUT)


def _lies_in(path: Path, folder: Path) -> bool:
    """Whether the path lies in the folder, links followed, and in no hidden folder of it."""
    target, folder = path.resolve(), folder.resolve()
    return target.is_relative_to(folder) and not _is_litter(target.relative_to(folder))


def checked(found: Contents) -> Contents:
    """Return the files if all their names are fit for a CSAR.

    :raises CsarError: with all names that are not, and their files
    """
    whys = ((file, name, wrong(name)) for name, file in found.items())
    unfit = [f"{file}: the name {name!r} {why}" for file, name, why in whys if why]
    if unfit:
        raise CsarError("\n".join(unfit))
    return found


def wrong(name: str) -> str:
    """Return why a CSAR cannot have a file of a name; empty if it can."""
    if not name.isprintable():
        return "has control characters"
    if {"", ".", ".."} & {*name.split("/")}:
        return "is not a path below the package's folder: it must be relative, without . and .."
    return ""


@contextmanager
def of_csar(csar: Path) -> Iterator[Contents]:
    """Give the files of a zip, which is open during the context.

    :raises CsarError: as :func:`extract`
    """
    with _opened(csar) as archive:
        names = _files(archive)
        with _reading(csar):
            damaged = archive.testzip()
        if damaged:
            raise CsarError(f"{csar}: {damaged} is damaged; build it again")
        yield {name: zipfile.Path(archive, name) for name in names}


def names_of(csar: Path) -> list[str]:
    """Return the names of the files of a zip.

    :raises CsarError: as :func:`extract`
    """
    with _opened(csar) as archive:
        return _files(archive)


def extract(csar: Path, folder: Path) -> None:
    """Extract the files of a zip.

    :raises CsarError: the zip cannot be read, is too large, or has links or names that do not fit
    """
    with _opened(csar) as archive, _reading(csar):
        archive.extractall(folder)


def _files(archive: zipfile.ZipFile) -> list[str]:
    return [name for name in archive.namelist() if not name.endswith("/")]


@contextmanager
def _opened(csar: Path) -> Iterator[zipfile.ZipFile]:
    with _reading(csar):
        archive = zipfile.ZipFile(csar)
    with archive:
        entries = archive.infolist()
        size = sum(entry.file_size for entry in entries)  # zipfile reads no more than this
        if len(entries) > _MOST_ENTRIES or size > _LARGEST:
            raise CsarError(
                f"{csar}: has {len(entries)} entries of {size} bytes; at most {_MOST_ENTRIES} of "
                f"{_LARGEST} bytes together are read"
            )
        refused = [f"{csar}: {e.orig_filename!r} {why}" for e in entries if (why := _refusal(e))]
        if refused:
            raise CsarError("\n".join(refused))
        yield archive


def _refusal(entry: zipfile.ZipInfo) -> str:
    """Why an entry of a zip is not read; empty if it is."""
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a device, and must be a file"
    if entry.compress_type not in _METHODS:
        return "is not compressed by deflate"
    if _UNICODE_PATH in _extra_fields(entry.extra):
        return "has a second name, which other programs read: make the zip without extra fields"
    return wrong(entry.orig_filename.removesuffix("/"))


def _extra_fields(extra: bytes) -> Iterator[int]:
    """Give the kinds of an entry's extra fields."""
    while len(extra) >= _FIELD.size:
        kind, size = _FIELD.unpack_from(extra)
        yield kind
        extra = extra[_FIELD.size + size :]


@contextmanager
def _reading(csar: Path) -> Iterator[None]:
    try:
        yield
    except _UNREADABLE as error:
        raise CsarError(f"{csar}: cannot be read as a zip ({error}); build it again") from error


def read(source: Source) -> bytes:
    """Return the content of a file of text.

    :raises CsarError: the file is larger than the drivers accept; no more of it is read
    """
    with source.open("rb") as stream:
        content = stream.read(package_yaml.LARGEST + 1)
    if len(content) > package_yaml.LARGEST:
        raise CsarError(f"{source}: larger than {package_yaml.LARGEST >> 20} MiB")
    return content


def copy(source: IO[bytes], target: IO[bytes]) -> None:
    """Copy a file piece by piece."""
    shutil.copyfileobj(source, target, _CHUNK)


def sha256(source: Source) -> str:
    """Return the hexadecimal SHA-256 of a file, read piece by piece."""
    digest = hashlib.sha256()
    with source.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def is_yaml(name: str) -> bool:
    """Say whether a file is YAML, by its name."""
    return name.endswith(_YAML)


def parse(source: Source) -> Any:
    """Return the value in a YAML file.

    :raises CsarError: the file is not YAML
    """
    try:
        return package_yaml.load(read(source))
    except package_yaml.BadYaml as error:
        raise CsarError(f"{source}: {error}") from error


def render(name: str, value: Any) -> InMemory:
    """Return a YAML file that holds ``value``."""
    return InMemory(name, yaml.safe_dump(value, sort_keys=False, allow_unicode=True).encode())


def _is_litter(path: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.parts)
    return hidden or "__pycache__" in path.parts or path.name.endswith(("~", ".pyc", ".bak"))
