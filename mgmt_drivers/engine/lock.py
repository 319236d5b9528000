"""One operation at a time on a machine.

Tacker's own locks end with a conductor that dies, and do not span its two APIs.
"""

from mgmt_drivers.errors import CommandFailed, Locked
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.machine.script import Script
from mgmt_drivers.ssh.session import DEFAULT_TIMEOUT, Session

_HOLD = Script(__package__, "hold-lock")
_LOCK = f"{STATE_FOLDER}/operation.lock"
# Seconds for a connection that has just been closed to end on the machine.
_PATIENCE = 30
_HELD, _LOCKED = "held", 75  # its word, and its exit status


def acquire(session: Session, who: str) -> None:
    """Lock the machine for an operation, until its connection ends.

    :param who: the operation, as the errors of others name it
    :raises Locked: when another operation holds the lock
    """
    command = _HOLD.command(_LOCK, who, str(_PATIENCE))
    seen = session.hold(command, _HELD, timeout=_PATIENCE + DEFAULT_TIMEOUT)
    if seen.status == _LOCKED:
        raise Locked(
            f"another operation works on the machine: {seen.tail}. Wait until that operation has "
            "ended, then retry this one. If the conductor of that operation died, its connection "
            "ends by itself, within 20 minutes where its host died, too"
        )
    if not seen.ok:
        raise CommandFailed("hold-lock", seen.status, seen.tail)
