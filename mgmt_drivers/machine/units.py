"""systemd units on a machine, and the files that they read when they start."""

from collections.abc import Sequence

from mgmt_drivers.machine import files
from mgmt_drivers.machine.files import STATE_FOLDER, File
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

_LIMIT = 180.0  # seconds for a unit to start
_SHOW, _APPLY = Script(__package__, "show-unit"), Script(__package__, "apply-unit")


def is_as_configured(host: Host, unit: str, expected: Sequence[File]) -> bool:
    """Ask whether the unit runs, and has read files with these contents."""
    words = (unit, _pending(unit), *(file.path for file in expected))
    answer = host.ask(*_SHOW.command(*words))
    return answer.ok and files.are_digests(answer.stdout, expected)


def configure(host: Host, unit: str, expected: Sequence[File]) -> None:
    """Write the files, enable the unit, and let the unit read the files.

    A unit that can reload is not restarted. A marker file exists until the unit has read its files:
    after an interruption the unit does not count as configured.
    """
    write = files.writing(expected)
    apply = _APPLY.command(unit, _pending(unit), *write.command)
    host.sudo(*apply, stdin=write.contents, timeout=write.limit + _LIMIT)


def _pending(unit: str) -> str:
    return f"{STATE_FOLDER}/{unit}.pending"
