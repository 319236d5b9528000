"""A terminal for tests: programs write to its one end, the other tells what a person would see."""

import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
_CONTROL = re.compile(r"\x1b\[(\d*)([AJ])|([\r\n])|([^\x1b\r\n]+)")
# Whoever opens a terminal without having one gets it as the one whose Ctrl-C counts. Where a shell
# runs the tests in the background they ignore it, and so would the program.
_CONTROLLED = (
    "import os, signal\nos.close(os.open(os.ttyname(0), os.O_RDWR))\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
)
_LIMIT = 60.0  # seconds


class Screen:
    """What a terminal of some width shows after what was written to it."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.rows = [""]
        self.row, self.column = 0, 0

    def write(self, text: str) -> None:
        for count, action, control, plain in _CONTROL.findall(text):
            if action == "A":
                self.row = max(0, self.row - int(count or 1))
            elif action == "J":
                self.rows[self.row] = self.rows[self.row][: self.column]
                del self.rows[self.row + 1 :]
            elif control == "\r":
                self.column = 0
            elif control == "\n":
                self._to_next_row()
            for character in plain:
                self._put(character)

    def _put(self, character: str) -> None:
        if self.column == self.columns:
            self._to_next_row()
            self.column = 0
        row = self.rows[self.row].ljust(self.column)
        self.rows[self.row] = row[: self.column] + character + row[self.column + 1 :]
        self.column += 1

    def _to_next_row(self) -> None:
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append("")


class Terminal:
    """A pseudo-terminal, and a Python program that runs on it."""

    def __init__(self, columns: int = 80) -> None:
        self._ours, self.stream = os.openpty()
        attributes = termios.tcgetattr(self.stream)
        attributes[3] |= termios.NOFLSH  # Ctrl-C drops no output that was not read yet
        termios.tcsetattr(self.stream, termios.TCSANOW, attributes)
        self.resize(columns)
        self.screen = Screen(columns)
        self.written = ""

    def resize(self, columns: int) -> None:
        size = struct.pack("HHHH", 24, columns, 0, 0)
        fcntl.ioctl(self.stream, termios.TIOCSWINSZ, size)

    def start(self, program: str, **environment: str) -> "subprocess.Popen[bytes]":
        kept = {name: text for name, text in os.environ.items() if name != "CI"}
        return subprocess.Popen(
            [sys.executable, "-c", _CONTROLLED + program],
            stdin=self.stream, stdout=self.stream, stderr=self.stream, start_new_session=True,
            cwd=CHECKOUT, env={**kept, "TERM": "xterm", **environment},
        )

    def type(self, text: bytes) -> None:
        os.write(self._ours, text)

    def read_until(self, pattern: str) -> None:
        """Read until the screen has what matches; raises TimeoutError when nothing does."""
        end = time.monotonic() + _LIMIT
        while not re.search(pattern, "\n".join(self.screen.rows)):
            if time.monotonic() > end:
                raise TimeoutError(f"no {pattern!r} in {self.screen.rows}")
            self._read(0.1)

    def finish(self, process: "subprocess.Popen[bytes]") -> Sequence[str]:
        """Wait for a program; returns the rows of the screen."""
        end = time.monotonic() + _LIMIT
        while process.poll() is None:
            if time.monotonic() > end:
                process.kill()
                raise TimeoutError(f"it still runs; {self.screen.rows}")
            self._read(0.1)
        while self._read(0):
            pass
        return self.screen.rows

    def _read(self, seconds: float) -> bool:
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        text = os.read(self._ours, 65536).decode()
        self.written += text
        self.screen.write(text)
        return True

    def close(self) -> None:
        os.close(self._ours)
        os.close(self.stream)
