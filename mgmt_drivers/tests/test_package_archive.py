"""Archives of a package that attack whoever reads them."""

import gzip
import io
import json
import tarfile
import tempfile
import tracemalloc
import unittest
from pathlib import Path
from typing import Any

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.kube.backup import contents_of_file
from mgmt_drivers.package_archive import BROKEN, open_archive
from mgmt_drivers.params.declaration import ObjectOf
from mgmt_drivers.params.helm import HELM
from mgmt_drivers.params.kinds import Kind
from mgmt_drivers.params.private_registry import PrivateRegistryParams
from mgmt_drivers.params.reader import Context, Reader, ValidationErrors

_FULL = 30_000_000  # bytes, which are few when compressed


def _bomb(kind: bytes, size: int = _FULL) -> bytes:
    entry = tarfile.TarInfo("a")
    entry.type, entry.size = kind, size
    return entry.tobuf(tarfile.GNU_FORMAT) + b"a" * _FULL


def _sparse() -> bytes:
    """A file of pax's form 1.0, which begins with its map: so many numbers."""
    entry = tarfile.TarInfo("a")
    entry.size = _FULL
    entry.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
    return entry.tobuf(tarfile.PAX_FORMAT) + b"10000000\n" + b"0\n" * (_FULL // 2)


class PackageArchiveTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.package = Path(folder.name)
        self.path = self.package / "a.tgz"

    def refused_backup(self) -> str:
        with self.assertRaises(MgmtDriverError) as caught:
            contents_of_file(self.path)
        return str(caught.exception)

    def refused_helm(self) -> str:
        return self.error({"archive_path": "a.tgz"}, HELM)

    def refused_image(self) -> str:
        return self.error({"image_path": "a.tgz"}, ObjectOf(PrivateRegistryParams))

    def error(self, params: object, kind: Kind[Any]) -> str:
        errors = ValidationErrors()
        kind.parse(Reader(params, "p", errors, Context(self.package)))
        with self.assertRaises(MgmtDriverError) as caught:
            errors.raise_if_any()
        return str(caught.exception)

    def test_none_fills_the_memory(self) -> None:
        readers = {
            self.refused_backup: "is no whole backup",
            self.refused_helm: "p.archive_path: is not",
            self.refused_image: "image_path: is not",
        }
        for bomb in (_bomb(b"L"), _bomb(b"K"), _bomb(b"x"), _bomb(b"S", 0), _sparse()):
            with gzip.open(self.path, "wb", 1) as file:
                file.write(bomb)
            for refused, words in readers.items():
                with self.subTest(refused.__name__, bomb=bomb[156:157]):
                    tracemalloc.start()
                    error = refused()
                    _, most = tracemalloc.get_traced_memory()
                    tracemalloc.stop()
                    self.assertIn(words, error)
                    self.assertLess(most, 20_000_000)

    def test_what_machines_unpack_with_gzip_is_of_gzip(self) -> None:
        for mode in ("w", "w:xz", "w:bz2"):
            with tarfile.open(self.path, mode) as archive:
                archive.addfile(tarfile.TarInfo("linux-amd64/helm"))
            with self.subTest(mode):
                self.assertIn("p.archive_path: is not", self.refused_helm())
                self.assertIn("is no whole backup", self.refused_backup())

    def test_what_recurses_without_end(self) -> None:
        link = tarfile.TarInfo("metadata.json")
        link.type, link.linkname = tarfile.SYMTYPE, "metadata.json"
        deep = tarfile.TarInfo("metadata.json")
        deep.size = 60_000
        for entry in (link, deep):
            with tarfile.open(self.path, "w:gz") as archive:
                archive.addfile(entry, io.BytesIO(b"[" * entry.size))
            with self.subTest(entry.type):
                self.assertIn("RecursionError", self.refused_backup())

    def test_what_others_write_is_read(self) -> None:
        text = json.dumps({"a": 1}).encode()
        for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            entry = tarfile.TarInfo("x" * 200 + "é" if form != tarfile.USTAR_FORMAT else "x")
            entry.size = len(text)
            with tarfile.open(self.path, "w:gz", format=form) as archive:
                archive.addfile(entry, io.BytesIO(text))
            with self.subTest(form), open_archive(self.path) as archive:
                file = archive.extractfile(entry.name)
                self.assertEqual(text, file.read() if file else b"")

    def test_what_is_no_archive(self) -> None:
        self.path.write_bytes(b"")
        with self.assertRaises(BROKEN):
            open_archive(self.path)
