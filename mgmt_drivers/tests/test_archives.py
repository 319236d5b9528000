"""Archives of a package: one that is broken is refused with its parameter."""

import contextlib
import gzip
import io
import tarfile
import tempfile
import tracemalloc
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mgmt_drivers.cluster.backup.archive import MEMBERS, read_file
from mgmt_drivers.cluster.backup.backup_keys import BackupKeys
from mgmt_drivers.cluster.helm.helm_params import HELM
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.params.declaration import ObjectOf
from mgmt_drivers.params.kinds import Kind
from mgmt_drivers.params.reader import Context, Reader, ValidationErrors
from mgmt_drivers.registry.registry_params import PrivateRegistryParams


class PackageArchiveTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.package = Path(folder.name)
        self.path = self.package / "a.tgz"

    def refused_backup(self) -> str:
        with self.assertRaises(MgmtDriverError) as caught:
            read_file(self.path, BackupKeys({}, {}))
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

    def test_what_machines_unpack_with_gzip_is_of_gzip(self) -> None:
        for mode in ("w", "w:xz", "w:bz2"):
            with tarfile.open(self.path, mode) as archive:
                archive.addfile(tarfile.TarInfo("linux-amd64/helm"))
            with self.subTest(mode):
                self.assertIn("p.archive_path: is not", self.refused_helm())
                self.assertIn("is not a whole backup", self.refused_backup())

    def test_what_recurses_without_end(self) -> None:
        link, deep = (tarfile.TarInfo(MEMBERS[0]) for _ in range(2))
        link.type, link.linkname = tarfile.SYMTYPE, link.name
        deep.size = 60_000
        for entry, error in ((link, "StreamError"), (deep, "RecursionError")):
            with tarfile.open(self.path, "w") as archive:
                archive.addfile(entry, io.BytesIO(b"[" * entry.size))
                for name in MEMBERS[1:]:
                    archive.addfile(tarfile.TarInfo(name))
            with self.subTest(entry.type):
                self.assertIn(error, self.refused_backup())

    def test_names_of_many_megabytes(self) -> None:
        """tarfile reads the name of a member at once, and so its other attributes."""
        for kind in (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE,
                     tarfile.XGLTYPE):
            entry = tarfile.TarInfo("linux-amd64/helm")
            entry.type, entry.size = kind, 40 << 20
            with gzip.open(self.path, "wb", 1) as file:
                file.write(entry.tobuf(tarfile.GNU_FORMAT))
                for _ in range(40):
                    file.write(bytes(1 << 20))
            for refused in (self.refused_helm, self.refused_image, self.refused_backup):
                with self.subTest(f"{kind!r}, {refused.__name__}"), self.in_little_memory():
                    refused()
            with self.path.open("wb") as file:
                file.write(entry.tobuf(tarfile.GNU_FORMAT))
                file.truncate(40 << 20)
            with self.in_little_memory():
                self.refused_backup()

    @contextlib.contextmanager
    def in_little_memory(self) -> Iterator[None]:
        tracemalloc.start()
        yield
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        self.assertLess(most, 20_000_000)

    def test_what_is_no_archive(self) -> None:
        self.path.write_bytes(b"")
        self.assertIn("image_path: is not", self.refused_image())
