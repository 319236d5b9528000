"""Polls an API while something happens to it."""

import ssl
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tools.client.log import log

_PERIOD = 0.1  # seconds
_TIMEOUT = 2.0  # seconds for one answer


@dataclass
class Availability:
    """How many requests were sent, which failed (``12.3 s: why``), and the longest outage.

    All times are seconds; an outage reaches from one answer to the next.
    """

    requests: int = 0
    failures: list[str] = field(default_factory=list)
    longest_outage: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.requests} requests, {len(self.failures)} of them failed, "
            f"longest outage {self.longest_outage:.1f} s"
            + "".join(f"\n  at {failure}" for failure in self.failures)
        )


@contextmanager
def poll_readiness(url: str) -> Iterator[Availability]:
    """Poll an API's /readyz ten times a second, each time on a new connection."""
    availability, stop = Availability(), threading.Event()
    # Any answer will do: the certificate does not matter here.
    context = ssl._create_unverified_context()  # noqa: S323

    def poll() -> None:
        start = answered = time.monotonic()
        while not stop.wait(_PERIOD):
            availability.requests += 1
            asked = time.monotonic()
            failure: Exception | None = None
            try:
                urllib.request.urlopen(f"{url}/readyz", timeout=_TIMEOUT, context=context).read()
            except OSError as error:
                failure = error
            now = time.monotonic()
            availability.longest_outage = max(availability.longest_outage, now - answered)
            if failure:
                took = f"{asked - start:.1f} s, for {now - asked:.1f} s"
                availability.failures.append(f"{took}: {failure}")
            else:
                answered = now

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield availability
    finally:
        stop.set()
        thread.join()
        log(f"{url}/readyz: {availability}")
