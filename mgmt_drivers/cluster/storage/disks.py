"""Disks of a machine that are Cinder volumes, and the file systems on them."""

from dataclasses import dataclass

from mgmt_drivers.clock import NotYet
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.machine import answers, blocks, files, syntax
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

_FSTAB = "/etc/fstab"
_ATTACH_LIMIT = 120.0  # seconds for a volume to be seen
_FORMAT_LIMIT = 900.0  # seconds
_BLANK = 2  # blkid's exit status where it finds nothing
# Hypervisors show the beginning of a volume's id: virtio's serial numbers have 20 characters.
_SHOWN = 20
_FIND = Script(__package__, "find-disk")


@dataclass(frozen=True)
class Mount:
    """A file system, by its UUID, and where it is mounted."""

    uuid: str
    point: str


def find(host: Host, volume_id: str) -> str | None:
    """The device of a volume; None while the machine does not see it."""
    found = host.ask(*_FIND.command(volume_id[:_SHOWN]))
    if not found.ok:
        return None
    return answers.checked(found.stdout.strip(), answers.DISK, "a disk by its id")


def wait_for(host: Host, volume_id: str) -> None:
    """Wait until the machine sees a volume that was attached to it."""

    def seen() -> None:
        if find(host, volume_id) is None:
            raise NotYet("no such disk in /dev/disk/by-id")

    host.clock.until(seen, _ATTACH_LIMIT, f"the disk of volume {volume_id}")


def uuid_of(host: Host, device: str) -> str | None:
    """UUID of the ext4 file system on a device; None where it is blank.

    :raises MgmtDriverError: when it holds something else
    """
    seen = host.ask("blkid", "--probe", "--output", "export", device)
    if seen.status == _BLANK:
        _check_blank(host, device)
        return None
    pairs = dict(line.split("=", 1) for line in seen.stdout.splitlines() if "=" in line)
    if pairs.get("TYPE") != "ext4" or "UUID" not in pairs:
        what = pairs.get("TYPE") or pairs.get("PTTYPE") or seen.tail or "something"
        raise MgmtDriverError(
            f"{device} holds {what}, not ext4: only a blank volume is formatted. Attach another, "
            "or empty it (wipefs)"
        )
    return pairs["UUID"]


def _check_blank(host: Host, device: str) -> None:
    """blkid says of others too what it says of a blank device.

    Of one that cannot be read, and, from util-linux 2.39 on, of a file system whose superblock
    has a wrong checksum; wipefs shows that.

    :raises MgmtDriverError: when it is one of these
    """
    words = (f"if={device}", "of=/dev/null", "bs=1M", "count=4", "status=none")
    seen = host.ask("dd", *words)
    if not seen.ok or not host.ask("test", "-b", device).ok:
        raise MgmtDriverError(f"{device} cannot be read, it may hold data: {seen.tail}")
    left = host.sudo("wipefs", "--noheadings", "--output", "TYPE", device).split()
    if left:
        raise MgmtDriverError(
            f"{device} holds a damaged {left[0]}: only a blank volume is formatted. Repair it "
            "(fsck), attach another, or empty it (wipefs)"
        )


def ensure_ext4(host: Host, device: str) -> str:
    """Make a file system on a blank device, and on no other; returns its UUID."""
    # mke2fs writes what blkid looks for at its very end: one broken off left it blank.
    if uuid_of(host, device) is None:
        host.sudo("mkfs.ext4", "-q", device, timeout=_FORMAT_LIMIT)
    uuid = uuid_of(host, device)
    if uuid is None:
        raise MgmtDriverError(f"{device} is still blank, although mkfs.ext4 reported no error")
    return uuid


def is_mounted(host: Host, mount: Mount) -> bool:
    """Whether this very file system is mounted there.

    :raises MgmtDriverError: when another one is
    """
    words = ("--noheadings", "--output", "UUID", "--mountpoint", mount.point)
    seen = host.ask("findmnt", *words).stdout.split()
    if seen and mount.uuid not in seen:
        raise MgmtDriverError(f"{mount.point} is a mount point already, of file system {seen[0]}")
    return bool(seen)


def mount_permanently(host: Host, mounts: list[Mount], before: str) -> None:
    """Mount file systems, now and at each boot, then before a unit starts.

    One that is missing at boot holds nothing up.
    """
    options = f"defaults,nofail,x-systemd.before={before}"
    places = (f"UUID={syntax.words(mount.uuid, mount.point)}" for mount in mounts)
    lines = "".join(f"{place} ext4 {options} 0 2\n" for place in places)
    files.write(host, _FSTAB, blocks.replaced(files.read(host, _FSTAB), lines))
    host.sudo("systemctl", "daemon-reload")
    for mount in mounts:
        if not is_mounted(host, mount):
            host.sudo("mkdir", "--parents", mount.point)
            host.sudo("mount", mount.point)
