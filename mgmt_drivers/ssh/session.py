"""The connection to one machine, as phases use it."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from mgmt_drivers.errors import printable
from mgmt_drivers.secret import Secret

# The standard input of a command; a Path is streamed.
Stdin = bytes | str | Secret | Path | None

DEFAULT_TIMEOUT = 60.0  # seconds
# Bytes that a command may write: a machine may write anything, and parsed JSON takes some thirty
# times the memory of its text.
DEFAULT_OUTPUT = 64 << 10
LIST_OUTPUT = 1 << 20  # of lists that grow with images, backups or nodes
# Output of kubectl with some thousands of pods, packed folders, and programs that report their
# progress, whose output is not parsed.
LARGE_OUTPUT = 32 << 20
_TAIL = 2000  # characters of a command's output that an error quotes


@dataclass(frozen=True)
class Result:
    """The exit status and the output of a command; ``mask`` removes secrets from a text."""

    status: int
    stdout: str = field(default="", repr=False)
    stderr: str = field(default="", repr=False)
    mask: Callable[[str], str] = field(default=str, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        return self.status == 0

    @property
    def tail(self) -> str:
        """The end of standard error, or else of standard output, fit for an error or a log."""
        return self.complaint or self._end_of(self.stdout)

    @property
    def complaint(self) -> str:
        """The end of standard error, fit for an error or a log."""
        return self._end_of(self.stderr)

    def _end_of(self, output: str) -> str:
        # Masked before it is cut, since half of a secret would not be recognized.
        return printable(self.mask(output.strip())[-_TAIL:])


class _Count(threading.local):
    """How many commands the thread has sent, over all connections."""

    commands = 0


COUNT = _Count()


class Session(Protocol):
    """An open connection to one machine, perhaps by the former login of its endpoint."""

    has_former_login: bool

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: Stdin = None,
        sudo: bool = False,
        check: bool = True,
        timeout: float = DEFAULT_TIMEOUT,
        limit: int = DEFAULT_OUTPUT,
    ) -> Result:
        """Run one command, without a shell's interpretation of its words.

        :param argv: program and arguments; never a secret among them
        :param check: raise CommandFailed if the exit status is not 0
        :param timeout: seconds until the command times out
        :param limit: bytes that the command may write
        :raises CommandFailed, CommandTimeout, ConnectionFailed, OutputTooLong:
        """

    def hold(self, argv: Sequence[str], word: str, *, timeout: float = DEFAULT_TIMEOUT) -> Result:
        """Begin a command, as root, that runs until its input ends with the connection.

        Returns status 0 when the command has written its word. If the command ends before,
        returns its result as :meth:`run` does without ``check``.

        :param timeout: seconds for the command to write its word
        """

    def hide(self, *secrets: Secret) -> None:
        """Mask secrets that the operation has created in errors and logs from now on."""

    def close(self) -> None:
        """End the connection; closing twice is fine."""
