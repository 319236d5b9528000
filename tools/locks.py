"""File locks between commands."""

import fcntl
from typing import IO

from tools.progress import Progress


def acquire(file: IO[str], reason: str, progress: Progress) -> None:
    """Lock an open file until it is closed; print the reason when that has to wait."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        progress.say(f"{reason}; waiting for it")
        fcntl.flock(file, fcntl.LOCK_EX)
