"""Lines at the bottom of a terminal, drawn again and again until what they tell of has ended.

Only Python's standard library is used here: tools/run shows its progress on a bare machine. rich
would leave lines behind in a window that became narrower, show the oldest steps in a low one, and
leave the cursor hidden when it is killed.
"""

import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterator
from typing import TextIO

_INTERVAL = 0.5  # seconds
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")  # ECMA-48: colours, movements of the cursor
_UNPRINTABLE = re.compile(r"[^ -~]")
_ERASE_BELOW = "\r\x1b[J"


def can_show(stream: TextIO) -> bool:
    """Whether a person watches: a terminal that moves its cursor, and no CI system."""
    dumb = os.environ.get("TERM", "dumb") == "dumb"
    return stream.isatty() and not dumb and not os.environ.get("CI")


class LiveLines:
    """The live lines of a terminal; everything else is printed above them.

    Between two drawings the cursor stands at the start of the last line, where the next drawing
    overwrites what the terminal echoes of Ctrl-C.
    """

    def __init__(self, stream: TextIO, interval: float = _INTERVAL) -> None:
        self._stream = stream
        self._interval = interval
        self._lock = threading.RLock()
        self._lines: list[Callable[[], str]] = []
        self._drawn: list[str] = []
        self._drawing = False

    @contextlib.contextmanager
    def line(self, text: Callable[[], str]) -> Iterator[None]:
        """Show a line meanwhile; ``text`` is asked for each drawing."""
        try:
            with self._lock:
                self._lines.append(text)
                self._draw()
                if not self._drawing:
                    self._drawing = True
                    threading.Thread(target=self._keep_drawing, daemon=True).start()
            yield
        finally:
            with self._lock, contextlib.suppress(ValueError):  # interrupted before it was there
                self._lines.remove(text)
                self._draw()

    def print(self, text: str, stream: TextIO | None = None) -> None:
        """Print lines that stay, to the terminal or to another stream that may be the same one."""
        with self._lock:
            self._stream.write(self._erase())
            self._stream.flush()
            print(text, file=stream or self._stream, flush=True)
            self._draw()

    def _keep_drawing(self) -> None:
        pause = threading.Event()
        with contextlib.suppress(OSError, ValueError):  # the terminal has gone
            while not pause.wait(self._interval):
                with self._lock:
                    if not self._lines:
                        self._drawing = False
                        return
                    self._draw()

    def _draw(self) -> None:
        columns, rows = self._size()
        erased = self._erase()
        # The newest steps are those that a low terminal shows.
        texts = [_fit(text(), columns - 1) for text in self._lines[-max(1, rows - 1) :]]
        self._drawn = texts
        self._stream.write(erased + "\n".join(texts) + ("\r" if texts else ""))
        self._stream.flush()

    def _erase(self) -> str:
        """What moves the cursor to the first live line and erases from there."""
        columns, _ = self._size()
        # A terminal that became narrower has broken the lines.
        above = sum(max(1, -(-len(text) // columns)) for text in self._drawn[:-1])
        self._drawn = []
        return (f"\x1b[{above}A" if above else "") + _ERASE_BELOW

    def _size(self) -> tuple[int, int]:
        """Columns and rows, which change when the window does."""
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except OSError:
            return 80, 24
        # A serial console says that it has none.
        return size.columns or 80, size.lines or 24


def _fit(text: str, width: int) -> str:
    plain = _UNPRINTABLE.sub("?", _ESCAPE.sub("", text))
    return plain if len(plain) <= width else plain[: max(0, width - 3)] + "..."[:width]

