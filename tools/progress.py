"""Progress of a command: live lines on a terminal, and in a log a line when a step starts or ends.

Only Python's standard library is used here: tools/run shows its progress on a bare machine.
"""

import functools
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TextIO

from tools.live_lines import LiveLines, can_show

_LOCK = threading.Lock()
_QUIET = threading.Event()
_SHORT = 0.5  # seconds; the end of a shorter step is not worth a line


class Progress:
    """Shows the steps of a command and remembers how long each took."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.steps: list[tuple[str, float]] = []

    @property
    def elapsed(self) -> float:
        """Seconds since the command started."""
        return time.monotonic() - self.started

    @property
    def live(self) -> bool:
        """Whether steps have a live line, and their details are shown there only."""
        return _live_lines(sys.stdout) is not None

    def say(self, text: str) -> None:
        """Print a line that stays."""
        if not is_quiet():
            _print(f"[{self.elapsed:6.1f} s] {text}")

    @contextmanager
    def step(self, text: str) -> Iterator["Step"]:
        """Show ``text`` while a step runs, and its time when it ends.

        Several steps may run at once, in threads.
        """
        step = Step(self, text)
        lines = None if is_quiet() else _live_lines(sys.stdout)
        if not lines:
            self.say(f"{text} ...")
        try:
            with lines.line(step.live_line) if lines else nullcontext():
                yield step
        except BaseException:
            self.say(f"{text}: stopped after {step.elapsed:.1f} s")
            raise
        took = step.elapsed
        self.steps.append((text, took))
        if took >= _SHORT:
            self.say(f"{text}: {'failed after' if step.failed else 'done in'} {took:.1f} s")


class Step:
    """A step that runs, and the newest of its details, which ends its live line.

    ``failed`` is for whoever runs the step to set, where nothing is raised.
    """

    def __init__(self, progress: Progress, text: str) -> None:
        self.failed = False
        self._progress = progress
        self._text = text
        self._started = time.monotonic()
        self._detail = ""

    @property
    def elapsed(self) -> float:
        """Seconds since the step started."""
        return time.monotonic() - self._started

    def live_line(self) -> str:
        line = f"{self.elapsed:7.0f} s  {self._text}"
        return f"{line}: {self._detail}" if self._detail else line

    def note(self, detail: str) -> None:
        """Show a detail on the live line only."""
        self._detail = detail.strip() or self._detail

    def say(self, detail: str) -> None:
        """Show a detail on the live line, or print it where there is none."""
        if self._progress.live:
            self.note(detail)
        else:
            self._progress.say(f"  {detail}")

    def echo(self, line: str) -> None:
        """Like ``say``, for a line of a program's output, which has the program's shape."""
        if self._progress.live:
            self.note(line)
        else:
            _print(line.rstrip("\n"))


def print_error(text: str) -> None:
    """Print an error to stderr."""
    _print(f"error: {text}", sys.stderr)


def is_quiet() -> bool:
    return _QUIET.is_set()


def be_quiet(quiet: bool = True) -> None:
    """Print errors alone from now on."""
    (_QUIET.set if quiet else _QUIET.clear)()


@functools.cache
def _live_lines(stream: TextIO) -> LiveLines | None:
    """Those of a terminal; None for a log."""
    return LiveLines(stream) if can_show(stream) else None


def _print(text: str, stream: TextIO | None = None) -> None:
    """Print a line, above the live lines if there are some."""
    lines = _live_lines(sys.stdout)
    if lines:
        lines.print(text, stream)
        return
    with _LOCK:
        print(text, file=stream or sys.stdout, flush=True)
