"""The parameters ``etcd_backup`` and ``restore_from``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mgmt_drivers.cluster.storage.storage_params import Folder, Storage, inside, overlap
from mgmt_drivers.params.declaration import ObjectOf, When, param
from mgmt_drivers.params.kinds import Count, PackageFile, Text, TextKind
from mgmt_drivers.params.reader import Context, Reader

NAME = "etcd_backup"
RESTORE = "restore_from"
LATEST = "latest"
# Name of a backup: the time (UTC), the release of the apiserver, and the node that saved it.
BACKUP = re.compile(
    r"etcd-[0-9]{8}T[0-9]{6}Z-v[0-9]{1,3}(?:\.[0-9]{1,3}){2}-[a-z0-9-]{1,63}\.tar\.gz"
)
_INTERVAL = re.compile(r"(?P<number>[0-9]{1,4})(?P<unit>[mhd])")
_UNITS = {"m": 60, "h": 3600, "d": 86400}  # in seconds
_SHORTEST, _LONGEST = 300, 30 * 86400  # seconds
# Folder in the storage server's first volume, which no export may overlap with.
_ON_VOLUME = "etcd-backup"
# Folders that a reboot of the machine, or a reset of kubeadm, empties.
_PASSING = (
    "/dev", "/etc/kubernetes", "/proc", "/run", "/sys", "/tmp",  # noqa: S108 - none is used
    "/var/lib/etcd", "/var/lib/kubelet", "/var/run",
)


class _Interval(TextKind[int]):
    """A duration, read as seconds."""

    words = "duration, such as ``30m``, ``6h`` or ``1d``"
    fallback = _SHORTEST
    pattern = "^[0-9]{1,4}[mhd]$"

    def take(self, text: str, reader: Reader) -> int:
        match = _INTERVAL.fullmatch(text)
        seconds = int(match["number"]) * _UNITS[match["unit"]] if match else 0
        if not _SHORTEST <= seconds <= _LONGEST:
            reader.refuse("must be minutes, hours or days such as 30m, 6h or 1d, from 5m to 30d")
        return seconds or _SHORTEST


class _LastingFolder(Folder):
    def take(self, text: str, reader: Reader) -> str:
        path = super().take(text, reader)
        if path == "/" or any(inside(path, passing) for passing in _PASSING):
            reader.refuse(f"{path} does not last; use a folder such as /var/backups/etcd")
        return path


@dataclass(frozen=True)
class Backup:
    """Backups of etcd: one each ``interval`` seconds; the newest ``keep`` are kept in a folder.

    The folder is on the storage server, or on each control-plane node.
    """

    interval: int = param(
        "interval", _Interval(), default="6h", example="1d",
        meaning="time between two backups, from ``5m`` to ``30d``",
    )
    keep: int = param("keep", Count(), default=12, example=3, meaning="how many backups are kept")
    folder: str = param(
        "folder", _LastingFolder(), required=When("without ``storage_server``"), value="",
        example="/var/backups/etcd", meaning="folder on each control-plane node",
        left_out="``etcd-backup`` on the first volume of the storage server",
    )
    is_on_storage_server: bool = False


@dataclass(frozen=True)
class Restore:
    """The backup to restore: a file of the VNF package, or the name of a backup."""

    name: str
    file: Path | None = None


BACKUPS = ObjectOf(Backup)


def placed(backup: Backup | None, storage: Storage | None, reader: Reader) -> Backup | None:
    """Backups with their folder, which is on the storage server if the request names no folder.

    :param reader: reader of the parameter
    """
    if backup is None or reader.has("folder"):
        return backup
    points = [volume.mount_point for volume in storage.volumes] if storage else []
    folder = f"{points[0].rstrip('/')}/{_ON_VOLUME}" if points else ""
    if isinstance(reader.value, Mapping):
        _check_folder(folder, storage, reader.at("folder"))
    return replace(backup, folder=folder, is_on_storage_server=True)


def _check_folder(folder: str, storage: Storage | None, reader: Reader) -> None:
    if storage is None:
        reader.refuse("missing: without a storage_server, backups need a folder on the masters")
    elif any(export.folder and overlap(export.folder, folder) for export in storage.exports):
        reader.refuse(
            f"missing: an export of the storage server overlaps with {folder}, the default "
            "folder. Export other folders, or name a folder on the masters"
        )


def read_restore(reader: Reader, package: Path, backup: Backup | None, is_kept: bool) -> Restore:
    """Read the backup that a heal of the whole VNF restores.

    :param reader: reader of the object that holds the parameter
    :param is_kept: whether the heal keeps the storage server's volumes
    """
    place = Reader(reader.at(RESTORE).value, f"{reader.path}.{RESTORE}", reader.errors,
                   Context(package))
    text = Text().parse(place)
    if "/" in text:
        return Restore(text, PackageFile().take(text, place))
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
