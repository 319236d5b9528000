"""Progress on the terminal: a line when a step starts, its time when it ends."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_LOCK = threading.Lock()


class Progress:
    """Prints the steps of a command and remembers how long each took."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.steps: list[tuple[str, float]] = []

    @property
    def elapsed(self) -> float:
        """Seconds since the command started."""
        return time.monotonic() - self.started

    def say(self, text: str) -> None:
        with _LOCK:
            print(f"[{self.elapsed:6.1f} s] {text}", flush=True)

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """Print ``text`` when a step starts, and its time when it ends."""
        start = time.monotonic()
        self.say(f"{text} ...")
        try:
            yield
        except BaseException:
            self.say(f"{text}: stopped after {time.monotonic() - start:.1f} s")
            raise
        took = time.monotonic() - start
        self.steps.append((text, took))
        if took >= 0.5:
            self.say(f"{text}: done in {took:.1f} s")


def print_error(text: str) -> None:
    """Print an error to stderr."""
    with _LOCK:
        print(f"error: {text}", file=sys.stderr, flush=True)
