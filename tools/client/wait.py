"""Waiting for a condition, with a limit and the last thing seen."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_SHORTEST, _LONGEST = 0.5, 2.0  # seconds between two looks


def until(look: Callable[[], T], good: Callable[[T], object], limit: float, what: str) -> T:
    """Look twice a second, later every other second, until what is seen is good; returns it.

    A look at what takes minutes costs the cloud more than the second that it saves.
    """
    start = time.monotonic()
    while True:
        seen = look()
        if good(seen):
            return seen
        waited = time.monotonic() - start
        if waited > limit:
            raise TimeoutError(f"{what}: not within {limit:.0f} s; last seen: {seen}")
        time.sleep(min(max(_SHORTEST, waited / 20), _LONGEST))
