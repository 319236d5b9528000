"""Asks an API again and again while something happens to it."""

import ssl
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tools.client.log import say

_PERIOD = 0.1  # seconds
_TIMEOUT = 2.0  # seconds for one answer


@dataclass
class Poll:
    """How often it was asked and did not answer; the longest silence in seconds."""

    asked: int = 0
    failures: list[str] = field(default_factory=list)
    longest: float = 0.0

    def __str__(self) -> str:
        return (
            f"asked {self.asked} times, {len(self.failures)} without answer, "
            f"longest silence {self.longest:.1f} s"
        )


@contextmanager
def readiness(url: str) -> Iterator[Poll]:
    """Poll an API's /readyz ten times a second; every question is a connection of its own."""
    poll, stop = Poll(), threading.Event()
    # Who answers is not the question here.
    context = ssl._create_unverified_context()  # noqa: S323

    def ask() -> None:
        answered = time.monotonic()
        while not stop.wait(_PERIOD):
            poll.asked += 1
            try:
                urllib.request.urlopen(f"{url}/readyz", timeout=_TIMEOUT, context=context).read()
                answered = time.monotonic()
            except OSError as error:
                poll.failures.append(str(error))
            poll.longest = max(poll.longest, time.monotonic() - answered)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    try:
        yield poll
    finally:
        stop.set()
        thread.join()
        say(f"{url}/readyz: {poll}")
