"""One operation at a time on a machine.

Tacker's own locks end with a conductor that dies, and do not span its two APIs.
"""

from mgmt_drivers.errors import CommandFailed, Locked
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.machine.script import Script
from mgmt_drivers.ssh.session import DEFAULT_TIMEOUT, Session

_HOLD = Script(__package__, "hold-lock")
PATH = f"{STATE_FOLDER}/operation.lock"
# Seconds to wait for the lock: a connection that was just closed ends later on the machine.
_PATIENCE = 30
_HELD = "held"  # the line that hold-lock writes when it holds the lock
_LOCKED = 75  # exit status of hold-lock if another operation holds the lock


def acquire(session: Session, who: str) -> None:
    """Lock the machine until the connection ends; raises Locked if another operation has it."""
    command = _HOLD.command(PATH, who, str(_PATIENCE))
    result = session.hold(command, _HELD, timeout=_PATIENCE + DEFAULT_TIMEOUT)
    if result.status == _LOCKED:
        raise Locked(
            f"another operation works on the machine: {result.tail}. Wait until that operation has "
            "ended, then retry this one. If the conductor of that operation died, its connection "
            "ends by itself, within 20 minutes if the conductor's host died, too"
        )
    if not result.ok:
        raise CommandFailed("hold-lock", result.status, result.tail)
