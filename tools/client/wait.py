"""Waiting for a condition, with a limit and the last thing seen."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(look: Callable[[], T], good: Callable[[T], object], limit: float, what: str) -> T:
    """Look twice a second until what is seen is good; returns it."""
    deadline = time.monotonic() + limit
    while True:
        seen = look()
        if good(seen):
            return seen
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {limit:.0f} s; last seen: {seen}")
        time.sleep(0.5)
