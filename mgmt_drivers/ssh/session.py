"""The connection to one machine, as phases use it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from mgmt_drivers.errors import printable
from mgmt_drivers.secret import Secret

# The standard input of a command; a Path is streamed.
Stdin = bytes | str | Secret | Path | None

DEFAULT_TIMEOUT = 60.0  # seconds
_TAIL = 2000  # characters of a command's output that an error quotes


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True)
class Result:
    """How a command ended: exit status, and what it wrote, decoded as UTF-8.

    ``mask`` takes secrets out of a text; what was written may hold some, and is not shown.
    """

    status: int
    stdout: str = field(default="", repr=False)
    stderr: str = field(default="", repr=False)
    mask: Callable[[str], str] = field(default=_as_it_is, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        return self.status == 0

    @property
    def tail(self) -> str:
        """The end of what it wrote, on standard error if there, fit for an error or a log."""
        return self.complaint or self._end_of(self.stdout)

    @property
    def complaint(self) -> str:
        """The end of what it wrote on standard error, fit for an error or a log."""
        return self._end_of(self.stderr)

    def _end_of(self, output: str) -> str:
        # Masked as a whole: what is cut off may be half of a secret.
        return printable(self.mask(output.strip())[-_TAIL:])


class Session(Protocol):
    """An open connection to one machine."""

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: Stdin = None,
        sudo: bool = False,
        check: bool = True,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Result:
        """Run one command, without a shell's interpretation of its words.

        :param argv: program and arguments; never a secret among them
        :param sudo: run it as root
        :param check: raise CommandFailed when the exit status is not 0
        :param timeout: seconds until the command times out
        :raises CommandFailed, CommandTimeout, ConnectionFailed, OutputTooLong:
        """

    def hold(self, argv: Sequence[str], word: str, *, timeout: float = DEFAULT_TIMEOUT) -> Result:
        """Begin a command, as root, that goes on until its input ends: with the connection.

        One that ends before its word ends as in :meth:`run`, with a status that is an answer.

        :param word: the line that the command writes when it has begun
        :param timeout: seconds until it must have begun
        """

    def hide(self, *secrets: Secret) -> None:
        """Take secrets that were made on the way out of all that errors and logs tell."""

    def close(self) -> None:
        """End the connection; closing twice is fine."""
