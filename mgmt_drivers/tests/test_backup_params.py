"""etcd_backup: defaults, what is taken over, and every error with its path."""

import ipaddress
import unittest
from typing import Any

from mgmt_drivers.cluster.backup.backup_params import BACKUP, BACKUPS, Backup, placed
from mgmt_drivers.cluster.storage.storage_params import Export, Storage, Volume
from mgmt_drivers.errors import ParameterError
from mgmt_drivers.params.login import SshLogin
from mgmt_drivers.params.reader import Context, Reader, ValidationErrors

_NETWORK = ipaddress.IPv4Network("10.10.0.0/24")


def _storage(*exports: str) -> Storage:
    volumes = (Volume("one", "/volume"), Volume("two", "/second"))
    login = SshLogin("ubuntu", None)
    return Storage("CP", login, volumes, tuple(Export(e, _NETWORK) for e in exports))


class BackupParamsTest(unittest.TestCase):
    def read(
        self, value: Any, storage: Storage | None = None, is_new: bool = True
    ) -> Backup | None:
        errors = ValidationErrors()
        reader = Reader(value, "p.etcd_backup", errors, Context(is_new=is_new))
        found = placed(None if value is None else BACKUPS.parse(reader), storage, reader)
        errors.raise_if_any()
        return found

    def test_on_the_storage_server(self) -> None:
        wanted = Backup(21600, 12, "/second/etcd-backup", is_on_storage_server=True)
        self.assertEqual(wanted, self.read({}, _storage("/volume/nfs")))
        # A cluster from before this rule keeps its place.
        wanted = Backup(21600, 12, "/volume/etcd-backup", is_on_storage_server=True)
        storage = _storage("/volume/nfs", "/second")
        self.assertEqual(wanted, self.read({}, storage, is_new=False))

    def test_on_masters(self) -> None:
        value = {"interval": "30m", "keep": 3, "folder": "/var/backups/etcd"}
        wanted = Backup(1800, 3, "/var/backups/etcd", is_on_storage_server=False)
        for storage in (None, _storage("/volume")):
            self.assertEqual(wanted, self.read(value, storage))

    def test_left_out(self) -> None:
        self.assertIsNone(self.read(None))

    def test_errors_with_their_paths(self) -> None:
        storage = _storage("/volume/nfs")
        for value, of, words in (
            ({}, None, "p.etcd_backup.folder: missing: without a storage_server"),
            ({}, _storage("/volume", "/second"), "p.etcd_backup.folder: missing: each volume of"),
            ({}, _storage("/volume/a", "/second/b"), "Give the storage server a volume without"),
            ({"interval": "6"}, storage, "p.etcd_backup.interval: must be minutes, hours or days"),
            ({"interval": "4m"}, storage, "p.etcd_backup.interval: must be"),
            ({"interval": "31d"}, storage, "p.etcd_backup.interval: must be"),
            ({"interval": 6}, storage, "p.etcd_backup.interval: must be a string"),
            ({"interval": "6h\n"}, storage, "p.etcd_backup.interval: must not hold"),
            ({"keep": 0}, storage, "p.etcd_backup.keep: must be a whole number"),
            ({"folder": "backups"}, storage, "p.etcd_backup.folder: must be an absolute path"),
            ({"folder": "/a/../etc"}, storage, "p.etcd_backup.folder: must be an absolute path"),
            ({"folder": "/"}, storage, "p.etcd_backup.folder: / does not last"),
            ({"folder": "/tmp/x"}, storage, "p.etcd_backup.folder: /tmp/x does not last"),  # noqa: S108
            ({"folder": "/var/lib/etcd/b"}, storage, "/var/lib/etcd/b does not last"),
            ({"place": "x"}, storage, "p.etcd_backup.place: unknown parameter"),
            ("6h", storage, "p.etcd_backup: must be an object"),
        ):
            with self.subTest(value):
                with self.assertRaises(ParameterError) as caught:
                    self.read(value, of)
                self.assertIn(words, str(caught.exception))

    def test_names_of_backups(self) -> None:
        good = "etcd-20261122T100000Z-v1.37.2-0a1b2c3d-master-0123456789ab.tar"
        self.assertTrue(BACKUP.fullmatch(good))
        for bad in (f"../{good}", f"{good}\n", good.replace("m", "/"), good.upper(), f"-{good}"):
            self.assertFalse(BACKUP.fullmatch(bad), bad)
