"""Locks that commands wait for, and say so."""

import fcntl
from typing import IO

from tools.devcloud.progress import Progress


def lock(file: IO[str], reason: str, progress: Progress) -> None:
    """Lock an open file, as long as it is open; say why that takes a while."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        progress.say(f"{reason}; waiting for it")
        fcntl.flock(file, fcntl.LOCK_EX)
