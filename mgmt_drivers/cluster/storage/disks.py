"""Disks of a machine that are Cinder volumes, and the file systems on them."""

from dataclasses import dataclass

from mgmt_drivers.clock import NotYet
from mgmt_drivers.errors import VolumeError
from mgmt_drivers.machine import answers, blocks, files, syntax
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

_FSTAB = "/etc/fstab"
_ATTACH_LIMIT = 120.0  # seconds for a volume to be seen
_FORMAT_LIMIT = 900.0  # seconds
_BLANK = 2  # blkid's exit status if it finds nothing
# Disk ids contain the first characters of a volume's id: virtio's serial numbers have 20.
_SHOWN = 20
_FIND = Script(__package__, "find-disk")


@dataclass(frozen=True)
class Mount:
    """A file system, by its UUID, and its mount point."""

    uuid: str
    point: str


def find(host: Host, volume_id: str) -> str | None:
    """Find the device of a volume; None while the machine does not see the volume."""
    result = host.ask(*_FIND.command(volume_id[:_SHOWN]))
    if not result.ok:
        return None
    return answers.checked(result.stdout.strip(), answers.DISK, "a disk by its id")


def wait_for(host: Host, volume_id: str) -> None:
    def is_seen() -> None:
        if find(host, volume_id) is None:
            raise NotYet("no such disk in /dev/disk/by-id")

    host.clock.until(is_seen, _ATTACH_LIMIT, f"the disk of volume {volume_id}")


def read_uuid(host: Host, device: str) -> str | None:
    """Read the UUID of ext4; None on a blank device; raises MgmtDriverError for other data."""
    result = host.ask("blkid", "--probe", "--output", "export", device)
    if result.status == _BLANK:
        _check_blank(host, device)
        return None
    pairs = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
    if pairs.get("TYPE") != "ext4" or "UUID" not in pairs:
        what = pairs.get("TYPE") or pairs.get("PTTYPE") or result.tail or "something"
        raise VolumeError(
            f"{device} holds {what}, not ext4: only a blank volume is formatted. Attach another "
            "volume, or empty this volume (wipefs)"
        )
    return pairs["UUID"]


def _check_blank(host: Host, device: str) -> None:
    """Check a device that is blank according to blkid.

    blkid answers the same for a device that cannot be read, and from util-linux 2.39 on for a file
    system whose superblock has a wrong checksum, which wipefs shows.
    """
    words = (f"if={device}", "of=/dev/null", "bs=1M", "count=4", "status=none")
    result = host.ask("dd", *words)
    if not result.ok or not host.ask("test", "-b", device).ok:
        raise VolumeError(f"{device} cannot be read, it may hold data: {result.tail}")
    # Not shortened: half of a secret in an error would not be recognized and masked.
    left = host.sudo("wipefs", "--noheadings", "--output", "TYPE", device).strip()
    if left:
        raise VolumeError(
            f"{device} holds a damaged {left}: only a blank volume is formatted. Repair the file "
            "system (fsck), attach another volume, or empty this volume (wipefs)"
        )


def ensure_ext4(host: Host, device: str) -> str:
    """Make a file system on a device, only if the device is blank; returns the UUID."""
    # mke2fs writes the superblock last: after an interruption the device is still blank.
    if read_uuid(host, device) is None:
        host.sudo("mkfs.ext4", "-q", device, timeout=_FORMAT_LIMIT)
    uuid = read_uuid(host, device)
    if uuid is None:
        raise VolumeError(f"{device} is still blank, although mkfs.ext4 reported no error")
    return uuid


def is_mount_point(host: Host, folder: str) -> bool:
    return host.ask("findmnt", "--mountpoint", folder).ok


def is_mounted(host: Host, mount: Mount) -> bool:
    """Ask whether a file system is mounted; raises MgmtDriverError if another one has its place."""
    words = ("--noheadings", "--output", "UUID", "--mountpoint", mount.point)
    uuids = host.ask("findmnt", *words).stdout.split()
    if uuids and mount.uuid not in uuids:
        raise VolumeError(f"{mount.point} is a mount point already, of file system {uuids[0]}")
    return bool(uuids)


def mount_permanently(host: Host, mounts: list[Mount], before: str) -> None:
    """Mount file systems, now and at each boot before a unit starts.

    The machine runs no program of these file systems, and opens no device there, since pods write
    to them. A file system that is missing at boot does not delay the boot.
    """
    options = f"nosuid,nodev,noexec,nofail,x-systemd.before={before}"
    places = (f"UUID={syntax.words(mount.uuid, mount.point)}" for mount in mounts)
    lines = "".join(f"{place} ext4 {options} 0 2\n" for place in places)
    files.write(host, _FSTAB, blocks.replaced(files.read(host, _FSTAB), lines))
    host.sudo("systemctl", "daemon-reload")
    for mount in mounts:
        if not is_mounted(host, mount):
            host.sudo("mkdir", "--parents", mount.point)
            host.sudo("mount", mount.point)
