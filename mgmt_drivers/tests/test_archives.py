"""Archives of a package: one that is broken is refused with its parameter."""

import io
import json
import tarfile
import tempfile
import unittest
from pathlib import Path
from typing import Any

from mgmt_drivers.cluster.backup.backup import read_contents_of_file
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
            read_contents_of_file(self.path)
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
                self.assertIn("is not a complete backup", self.refused_backup())

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

    def test_a_kind_of_member_that_nobody_asks_for_does_no_harm(self) -> None:
        """As a sparse file, which GNU tar makes with its option --sparse."""
        sparse = tarfile.TarInfo("a")
        sparse.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1",
                              "GNU.sparse.map": "0,0", "GNU.sparse.size": "0"}
        text = json.dumps({"release": "v1.37.2", "pod_cidr": "10.0.0.0/16",
                           "cluster_cidr": "10.1.0.0/16"}).encode()
        entry = tarfile.TarInfo("metadata.json")
        entry.size = len(text)
        with tarfile.open(self.path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
            archive.addfile(sparse)
            archive.addfile(entry, io.BytesIO(text))
        self.assertEqual("v1.37.2", read_contents_of_file(self.path).release)

    def test_what_is_no_archive(self) -> None:
        self.path.write_bytes(b"")
        self.assertIn("image_path: is not", self.refused_image())
