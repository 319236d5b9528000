"""The parameter ``etcd_backup``, and what ``restore_from`` may name."""

import re
from dataclasses import dataclass
from pathlib import Path

from mgmt_drivers.cluster.storage.storage_params import Storage, inside, overlap, read_path
from mgmt_drivers.params.reader import Reader

NAME = "etcd_backup"
RESTORE = "restore_from"
LATEST = "latest"
# Made of the time (UTC), the release of the apiserver, and the node that saved it.
BACKUP = re.compile(
    r"etcd-[0-9]{8}T[0-9]{6}Z-v[0-9]{1,3}(?:\.[0-9]{1,3}){2}-[a-z0-9-]{1,63}\.tar\.gz"
)
_DEFAULT_INTERVAL, _DEFAULT_KEPT = "6h", 12
_INTERVAL = re.compile(r"(?P<number>[0-9]{1,4})(?P<unit>[mhd])")
_UNITS = {"m": 60, "h": 3600, "d": 86400}  # in seconds
_SHORTEST, _LONGEST = 300, 30 * 86400  # seconds
# Folder in the storage server's first volume, which is exported to nobody.
_ON_VOLUME = "etcd-backup"
# Folders that are emptied with the machine's reboot, or with a reset of kubeadm.
_PASSING = (
    "/dev", "/etc/kubernetes", "/proc", "/run", "/sys", "/tmp",  # noqa: S108 - none is used
    "/var/lib/etcd", "/var/lib/kubelet", "/var/run",
)


@dataclass(frozen=True)
class Backup:
    """Backups of etcd: one each ``interval`` seconds, of which ``keep`` are kept in a folder.

    The folder is the storage server's, or each control-plane node has its own.
    """

    interval: int
    keep: int
    folder: str
    is_on_storage_server: bool


@dataclass(frozen=True)
class Restore:
    """What a new cluster is made of: a file of the VNF package, or a backup by its name."""

    name: str
    file: Path | None = None


def read_backup(reader: Reader, storage: Storage | None) -> Backup | None:
    """Read the parameter; None where it is left out.

    :param reader: of the object that holds it
    """
    section = reader.section(NAME)
    if section is None:
        return None
    folder = _read_folder(section) if section.has("folder") else ""
    found = Backup(
        interval=_read_interval(section),
        keep=section.count("keep", _DEFAULT_KEPT),
        folder=folder or _folder_of(storage),
        is_on_storage_server=not folder,
    )
    if section.usable and not section.has("folder"):
        _check_storage(section, storage, found)
    section.end()
    return found


def _read_interval(reader: Reader) -> int:
    text = reader.optional_text("interval") or _DEFAULT_INTERVAL
    match = _INTERVAL.fullmatch(text)
    seconds = int(match["number"]) * _UNITS[match["unit"]] if match else 0
    if not _SHORTEST <= seconds <= _LONGEST:
        reader.error(
            "interval", "must be minutes, hours or days such as 30m, 6h or 1d, from 5m to 30d"
        )
    return seconds or _SHORTEST


def _read_folder(reader: Reader) -> str:
    path = read_path(reader, "folder")
    if path == "/" or any(inside(path, passing) for passing in _PASSING):
        reader.error("folder", f"{path} does not last; use a folder such as /var/backups/etcd")
    return path


def _folder_of(storage: Storage | None) -> str:
    points = [volume.mount_point for volume in storage.volumes] if storage else []
    return f"{points[0].rstrip('/')}/{_ON_VOLUME}" if points else ""


def _check_storage(reader: Reader, storage: Storage | None, found: Backup) -> None:
    if storage is None:
        reader.error(
            "folder", "missing: without a storage_server, backups need a folder on the masters"
        )
    elif any(export.folder and overlap(export.folder, found.folder) for export in storage.exports):
        reader.error(
            "folder",
            f"missing: an export of the storage server overlaps with {found.folder}, where the "
            "backups would lie. Export other folders, or name a folder on the masters",
        )


def read_restore(reader: Reader, package: Path, backup: Backup | None, is_kept: bool) -> Restore:
    """Read what a heal of the whole VNF is to restore.

    :param reader: of the object that holds the parameter
    :param is_kept: whether the storage server's volumes outlive the heal
    """
    text = reader.text(RESTORE)
    if "/" in text:
        return Restore(text, reader.file(RESTORE, package))
    if text and text != LATEST and not BACKUP.fullmatch(text):
        reader.error(
            RESTORE,
            f"must be {LATEST}, the name of a backup, or the path of one in the VNF package",
        )
    elif text and backup is None:
        reader.error(RESTORE, f"the VNF has no {NAME}: name a backup in the VNF package instead")
    elif text and backup and not backup.is_on_storage_server:
        reader.error(
            RESTORE,
            f"the backups lie in {backup.folder} on the masters, which this heal replaces: put a "
            "copy into the VNF package, and name its path there",
        )
    elif text and not is_kept:
        reader.error(
            RESTORE,
            "the backups lie on a volume of the storage server, which this heal replaces: put a "
            "copy into the VNF package and name its path there, or heal through Tacker's v2 API, "
            "without `all`",
        )
    return Restore(text)
