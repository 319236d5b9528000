"""Waiting for a condition: with back-off, a limit, and what was seen last."""

import time
from collections.abc import Callable
from typing import TypeVar

from mgmt_drivers.errors import WaitTimeout

T = TypeVar("T")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0  # seconds


class NotYet(Exception):
    """Raised by a condition that does not hold yet; its text says what was seen."""


def until(condition: Callable[[], T], timeout: float, what: str) -> T:
    """Call ``condition`` until it no longer raises NotYet; returns its value.

    :param timeout: seconds after which it is not called again
    :param what: what is waited for, for the error
    :raises WaitTimeout: with ``what`` and the last NotYet
    """
    deadline = time.monotonic() + timeout
    pause = _FIRST_PAUSE
    while True:
        try:
            return condition()
        except NotYet as seen:
            left = deadline - time.monotonic()
            if left <= 0:
                raise WaitTimeout(f"{what}: not within {timeout:g} s; last seen: {seen}") from seen
        time.sleep(min(pause, left))
        pause = min(pause * 1.5, _LONGEST_PAUSE)
