"""Time, and waiting for a condition: with back-off, a limit, and the last observation."""

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from mgmt_drivers.errors import WaitTimeout

T = TypeVar("T")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0  # seconds


class NotYet(Exception):
    """Raised by a condition that does not hold yet; its text describes the current state."""


class Clock:
    """The clock of this machine. Tests use a clock of their own."""

    def time(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def attempts(self, timeout: float) -> Iterator[None]:
        """Yield for each attempt, at least once, with growing pauses between them.

        :param timeout: seconds after which no further attempt begins
        """
        deadline = self.monotonic() + timeout
        pause = _FIRST_PAUSE
        yield
        while (left := deadline - self.monotonic()) > 0:
            self.sleep(min(pause, left))
            pause = min(pause * 1.5, _LONGEST_PAUSE)
            yield

    def until(self, condition: Callable[[], T], timeout: float, what: str) -> T:
        """Call ``condition`` until it no longer raises NotYet; returns its value.

        :param timeout: seconds after which ``condition`` is not called again
        :param what: name of the awaited thing, for the error
        :raises WaitTimeout: with ``what`` and the last NotYet
        """
        last = NotYet()
        for _ in self.attempts(timeout):
            try:
                return condition()
            except NotYet as not_yet:
                last = not_yet
        raise WaitTimeout(f"{what}: not within {timeout:g} s; last seen: {last}") from last


SYSTEM_CLOCK = Clock()
