"""Polls an API while something happens to it."""

import http.client
import socket
import ssl
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field

from tools.client import wait
from tools.client.log import log

_PERIOD = 0.1  # seconds
_TIMEOUT = 2.0  # seconds for one answer
_CONNECT_TIMEOUT = 0.25  # seconds
# Anybody may ask for both. The first needs no more than an API server that lives, the second also
# what it needs, above all an etcd that has a leader.
_ANSWERS, _IS_READY = "/livez?exclude=etcd", "/readyz"
# An apiserver that ends takes no request but those for its health.
_SERVES = "/version"


@dataclass
class Outages:
    """How many requests for a path were sent, which failed (``12.3 s: why``), the longest outage.

    All times are seconds; an outage reaches from one success to the next. ``most_in_a_row``: of
    requests that failed.
    """

    path: str
    requests: int = 0
    failures: list[str] = field(default_factory=list)
    longest: float = 0.0
    most_in_a_row: int = 0

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.requests} requests, {len(self.failures)} of them failed, "
            f"{self.most_in_a_row} in a row, longest outage {self.longest:.1f} s"
            + "".join(f"\n  at {failure}" for failure in self.failures)
        )


@dataclass(frozen=True)
class Availability:
    """When an API did not answer as it should, and when it was not ready to serve all requests."""

    answers: Outages
    readiness: Outages


class _Client(http.client.HTTPSConnection):
    """A client of an API, whose certificate does not matter here.

    A connection that nobody accepts fails soon: the kernel would repeat its first packet after a
    second only, and an outage of 0.2 seconds would look like one of 1.1.
    """

    def __init__(self, url: str) -> None:
        self._tls = ssl._create_unverified_context()  # noqa: S323
        super().__init__(urllib.parse.urlsplit(url).netloc, timeout=_TIMEOUT)

    def connect(self) -> None:
        sock = socket.create_connection((self.host, self.port), _CONNECT_TIMEOUT)
        sock.settimeout(_TIMEOUT)
        self.sock = self._tls.wrap_socket(sock, server_hostname=self.host)

    def ask(self, path: str) -> None:
        """Ask; a client that is not let in has its answer.

        :raises OSError, http.client.HTTPException: without a good answer, the connection has ended.
            An apiserver that ends answers 429 to everybody
        """
        try:
            self.request("GET", path)
            answer = self.getresponse()
            answer.read()
            if answer.status == http.HTTPStatus.TOO_MANY_REQUESTS or answer.status >= 500:
                raise OSError(f"{answer.status} {answer.reason}")
        except (OSError, http.client.HTTPException):
            self.close()
            raise


@contextmanager
def poll_api(url: str) -> Iterator[Availability]:
    """Poll an API, each time on a new connection, 0.1 seconds after the answer before."""
    seen = Availability(Outages(_ANSWERS), Outages(_IS_READY))

    def ask(path: str) -> None:
        with closing(_Client(url)) as client:
            client.ask(path)

    with ExitStack() as polls:
        for outages in (seen.answers, seen.readiness):
            polls.enter_context(_poll(url, outages, ask))
        yield seen


@contextmanager
def keep_asking(url: str) -> Iterator[Outages]:
    """Ask an API as a client with keep-alive does: one connection until it fails."""
    outages = Outages(_SERVES)
    with closing(_Client(url)) as client, _poll(url, outages, client.ask):
        yield outages


@contextmanager
def _poll(url: str, outages: Outages, ask: Callable[[str], None]) -> Iterator[None]:
    start = succeeded = time.monotonic()
    in_a_row = 0

    def poll() -> None:
        nonlocal succeeded, in_a_row
        outages.requests += 1
        asked = time.monotonic()
        failure: Exception | None = None
        try:
            ask(outages.path)
        except (OSError, http.client.HTTPException) as error:
            failure = error
        now = time.monotonic()
        outages.longest = max(outages.longest, now - succeeded)
        in_a_row = in_a_row + 1 if failure else 0
        outages.most_in_a_row = max(outages.most_in_a_row, in_a_row)
        if failure:
            took = f"{asked - start:.1f} s, for {now - asked:.1f} s"
            outages.failures.append(f"{took}: {failure}")
        else:
            succeeded = now

    try:
        with wait.meanwhile(poll, _PERIOD):
            yield
    finally:
        log(f"{url}{outages}")
