"""File locks between commands."""

import fcntl
from collections.abc import Callable
from typing import IO

from tools.progress import Progress


def acquire(
    file: IO[str],
    reason: str,
    progress: Progress,
    lock: Callable[[IO[str], int], None] = fcntl.flock,
) -> None:
    """Lock an open file until it is closed; print the reason when that has to wait.

    :param lock: fcntl.lockf for the file of a program that takes POSIX locks
    """
    try:
        lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        progress.say(f"{reason}; waiting for it")
        lock(file, fcntl.LOCK_EX)
