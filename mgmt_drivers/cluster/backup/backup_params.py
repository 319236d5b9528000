"""The parameters ``etcd_backup`` and ``restore_from``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mgmt_drivers.cluster.backup import backup_keys
from mgmt_drivers.cluster.backup.backup_keys import BackupKeys
from mgmt_drivers.cluster.storage.storage_params import Folder, Storage, inside
from mgmt_drivers.params.declaration import ObjectOf, When, param
from mgmt_drivers.params.kinds import LARGEST_ARCHIVE, Count, Duration, PackageFile, Text, TextKind
from mgmt_drivers.params.reader import Context, Reader

NAME = "etcd_backup"
RESTORE, RESTORE_KEYS = "restore_from", "restore_keys"
LATEST = "latest"
# The time (UTC), the release of the apiserver, the id of the key pair, and the node that saved it.
BACKUP = re.compile(
    r"etcd-(?P<time>[0-9]{8}T[0-9]{6}Z)-v[0-9]{1,3}(?:\.[0-9]{1,3}){2}-(?P<key>[0-9a-f]{8})-"
    r"(?P<node>master-[0-9a-f]{12})\.tar"
)
# Folder in a volume of the storage server that has no exports.
_ON_VOLUME = "etcd-backup"
EXPORTED = (
    "missing: each volume of the storage server has exports, whose clients could read the backups. "
    "Give the storage server a volume without exports, or name a folder on the masters"
)
# Folders that a reboot of the machine, or a reset of kubeadm, empties.
_PASSING = (
    "/dev", "/etc/kubernetes", "/proc", "/run", "/sys", "/tmp",  # noqa: S108 - none is used
    "/var/lib/etcd", "/var/lib/kubelet", "/var/run",
)


class _LastingFolder(Folder):
    def take(self, text: str, reader: Reader) -> str:
        path = super().take(text, reader)
        if path == "/" or any(inside(path, passing) for passing in _PASSING):
            reader.refuse(f"{path} does not last; use a folder such as /var/backups/etcd")
        return path


@dataclass(frozen=True)
class Backup:
    """Backups of etcd: one each ``interval`` seconds; the newest ``keep`` are kept in a folder."""

    interval: int = param(
        "interval", Duration("5m", "30d"), default="6h", example="1d",
        meaning="time between two backups, from ``5m`` to ``30d``",
    )
    keep: int = param(
        "keep", Count(), default=12, example=3, meaning="how many backups of each node are kept"
    )
    folder: str = param(
        "folder", _LastingFolder(), required=When("without ``storage_server``"), value="",
        example="/var/backups/etcd", meaning="folder on each control-plane node",
        left_out="``etcd-backup`` on the storage server's first volume without exports",
    )
    is_on_storage_server: bool = False


class KeysOfBackups(TextKind[BackupKeys | None]):
    """The keys of another VNF's backups, as that VNF's metadata has them."""

    words = "text in JSON"

    def take(self, text: str, reader: Reader) -> BackupKeys | None:
        try:
            return backup_keys.parse(text)
        except ValueError:
            reader.refuse(
                "must be the value of mgmt_driver_etcd_backup_keys in the metadata of the VNF "
                "instance that saved the backup"
            )
        return None


@dataclass(frozen=True)
class Restore:
    """The backup to restore: a file of the VNF package, or the name of a backup."""

    name: str
    file: Path | None = None


BACKUPS = ObjectOf(Backup)


def placed(backup: Backup | None, storage: Storage | None, reader: Reader) -> Backup | None:
    """Backups with their folder, by default the storage server's; the reader is the parameter's."""
    if backup is None or reader.has("folder"):
        return backup
    points = [volume.mount_point for volume in storage.volumes] if storage else []
    own, place = unexported(storage), reader.at("folder")
    if isinstance(reader.value, Mapping) and storage is None:
        place.refuse("missing: without a storage_server, backups need a folder on the masters")
    elif isinstance(reader.value, Mapping) and not own and reader.context.is_new:
        place.refuse(EXPORTED)
    # Clusters from before this rule keep their place.
    folder = f"{(own or points)[0].rstrip('/')}/{_ON_VOLUME}" if points else ""
    return replace(backup, folder=folder, is_on_storage_server=True)


def unexported(storage: Storage | None) -> list[str]:
    """The mount points of volumes without exports.

    Clients of an export may reach all of its file system (exports(5), no_subtree_check).
    """
    points = [volume.mount_point for volume in storage.volumes] if storage else []
    exported = [export.folder for export in storage.exports] if storage else []
    return [p for p in points if not any(inside(f, p) for f in exported)]


def read_restore(reader: Reader, package: Path, backup: Backup | None, is_kept: bool) -> Restore:
    """Read the backup to restore; ``is_kept``: the heal keeps the storage server's volumes."""
    place = Reader(reader.at(RESTORE).value, f"{reader.path}.{RESTORE}", reader.errors,
                   Context(package))
    text = Text().parse(place)
    if "/" in text:
        return Restore(text, PackageFile(LARGEST_ARCHIVE).take(text, place))
    if text and text != LATEST and not BACKUP.fullmatch(text):
        place.refuse(
            f"must be {LATEST}, the name of a backup, or the path of a backup in the VNF package"
        )
    elif text and backup is None:
        place.refuse(f"the VNF has no {NAME}: name a backup in the VNF package instead")
    elif text and backup and not backup.is_on_storage_server:
        place.refuse(
            f"the backups are in {backup.folder} on the masters, which this heal replaces: put a "
            "copy into the VNF package, and name its path there"
        )
    elif text and not is_kept:
        place.refuse(
            "the backups are on a volume of the storage server, which this heal replaces: put a "
            "copy into the VNF package and name its path there, or heal through Tacker's v2 API, "
            "without `all`"
        )
    return Restore(text)
