"""The files of a package by their names in the CSAR, from a folder or a zip."""

import hashlib
import io
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

_CHUNK = 1 << 20
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
    """Return the package's files in ``folder``, without leftovers of editors and interpreters."""
    return {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not _is_litter(path.relative_to(folder))
    }


@contextmanager
def of_csar(csar: Path) -> Iterator[Contents]:
    """Give the files of a zip, which is open during the context."""
    try:
        archive = zipfile.ZipFile(csar)
    except (OSError, zipfile.BadZipFile) as error:
        raise CsarError(f"{csar}: cannot be read as a zip ({error}); build it again") from error
    with archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        _check_members(csar, archive)
        yield {name: zipfile.Path(archive, name) for name in names}


def _check_members(csar: Path, archive: zipfile.ZipFile) -> None:
    try:
        damaged = archive.testzip()
    except (zlib.error, NotImplementedError, RuntimeError) as error:
        raise CsarError(f"{csar}: cannot be read as a zip ({error}); build it again") from error
    if damaged:
        raise CsarError(f"{csar}: {damaged} is damaged; build it again")


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
        return package_yaml.load(source.read_bytes())
    except package_yaml.BadYaml as error:
        raise CsarError(f"{source}: {error}") from error


def render(name: str, value: Any) -> InMemory:
    """Return a YAML file that holds ``value``."""
    return InMemory(name, yaml.safe_dump(value, sort_keys=False, allow_unicode=True).encode())


def _is_litter(path: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.parts)
    return hidden or "__pycache__" in path.parts or path.name.endswith(("~", ".pyc", ".bak"))
