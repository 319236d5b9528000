"""Polls an API while something happens to it."""

import ssl
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from tools.client.log import log

_PERIOD = 0.1  # seconds
_TIMEOUT = 2.0  # seconds for one answer
# Anybody may ask for both. The first needs no more than an API server that lives, the second also
# what it needs, above all an etcd that has a leader.
_ANSWERS, _IS_READY = "/livez?exclude=etcd", "/readyz"


@dataclass
class Outages:
    """How many requests for a path were sent, which failed (``12.3 s: why``), the longest outage.

    All times are seconds; an outage reaches from one success to the next.
    """

    path: str
    requests: int = 0
    failures: list[str] = field(default_factory=list)
    longest: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.requests} requests, {len(self.failures)} of them failed, "
            f"longest outage {self.longest:.1f} s"
            + "".join(f"\n  at {failure}" for failure in self.failures)
        )


@dataclass(frozen=True)
class Availability:
    """When an API did not answer as it should, and when it was not ready to serve all requests."""

    answers: Outages
    readiness: Outages


@contextmanager
def poll_api(url: str) -> Iterator[Availability]:
    """Poll an API ten times a second, each time on a new connection."""
    seen = Availability(Outages(_ANSWERS), Outages(_IS_READY))
    with ExitStack() as polls:
        for outages in (seen.answers, seen.readiness):
            polls.enter_context(_poll(url, outages))
        yield seen


@contextmanager
def _poll(url: str, outages: Outages) -> Iterator[None]:
    stop = threading.Event()
    # Any answer will do: the certificate does not matter here.
    context = ssl._create_unverified_context()  # noqa: S323

    def poll() -> None:
        start = succeeded = time.monotonic()
        while not stop.wait(_PERIOD):
            outages.requests += 1
            asked = time.monotonic()
            failure: Exception | None = None
            try:
                request = f"{url}{outages.path}"
                with urllib.request.urlopen(  # noqa: S310 - the URL is the cluster's
                    request, timeout=_TIMEOUT, context=context
                ) as answer:
                    answer.read()
            except OSError as error:
                failure = error
            now = time.monotonic()
            outages.longest = max(outages.longest, now - succeeded)
            if failure:
                took = f"{asked - start:.1f} s, for {now - asked:.1f} s"
                outages.failures.append(f"{took}: {failure}")
            else:
                succeeded = now

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        log(f"{url}{outages}")
