"""systemd units on a machine, and the files that they read when they start."""

from collections.abc import Sequence

from mgmt_drivers.machine import files
from mgmt_drivers.machine.files import STATE_FOLDER, File
from mgmt_drivers.machine.host import Host


def is_as_configured(host: Host, unit: str, wanted: Sequence[File]) -> bool:
    """Whether the unit runs, its files are these, and it has read them."""
    if not host.ask("systemctl", "is-active", "--quiet", unit).ok:
        return False
    if host.ask("test", "-e", _pending(unit)).ok:
        return False
    return all(files.has(host, file.path, file.content, file.mode) for file in wanted)


def configure(host: Host, unit: str, wanted: Sequence[File]) -> None:
    """Write the files and let the unit, from now on started at boot, read them.

    A unit that can reload goes on running. Broken off anywhere, it is not as
    configured: a marker file tells that the unit has not read its files yet.
    """
    files.write(host, _pending(unit), "")
    for file in wanted:
        files.write(host, file.path, file.content, file.mode)
    host.sudo("systemctl", "daemon-reload")
    host.sudo("systemctl", "enable", "--quiet", unit)
    host.sudo("systemctl", "reload-or-restart", unit)
    host.sudo("rm", _pending(unit))


def _pending(unit: str) -> str:
    return f"{STATE_FOLDER}/{unit}.pending"
