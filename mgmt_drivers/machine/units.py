"""systemd units on a machine, and the files that they read when they start."""

from collections.abc import Sequence

from mgmt_drivers.machine import files
from mgmt_drivers.machine.files import STATE_FOLDER, File
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

_LIMIT = 180.0  # seconds for a unit to start
_SHOW, _APPLY = Script(__package__, "show-unit"), Script(__package__, "apply-unit")


def is_as_configured(host: Host, unit: str, wanted: Sequence[File]) -> bool:
    """Ask whether the unit runs, its files are these, and it has read them."""
    words = (unit, _pending(unit), *(file.path for file in wanted))
    answer = host.ask(*_SHOW.command(*words))
    return answer.ok and files.are_digests(answer.stdout, wanted)


def configure(host: Host, unit: str, wanted: Sequence[File]) -> None:
    """Write the files and let the unit, from now on started at boot, read them.

    A unit that can reload goes on running. If this is broken off, the unit is not as configured:
    a marker file tells that the unit has not read its files yet.
    """
    files.write_all(host, [File(_pending(unit), ""), *wanted])
    host.sudo(*_APPLY.command(unit, _pending(unit)), timeout=_LIMIT)


def _pending(unit: str) -> str:
    return f"{STATE_FOLDER}/{unit}.pending"
