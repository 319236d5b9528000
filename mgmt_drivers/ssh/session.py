"""What phases need of a connection to one machine, whatever it is made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mgmt_drivers.secret import Secret

# What a command may be given on its standard input; a Path is streamed.
Stdin = bytes | str | Secret | Path | None

DEFAULT_TIMEOUT = 60.0  # seconds


@dataclass(frozen=True)
class Result:
    """How a command ended: exit status, and what it wrote, decoded as UTF-8."""

    status: int
    stdout: str = ""
    stderr: str = ""

    @property
    def ok(self) -> bool:
        return self.status == 0


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
        :raises CommandFailed, CommandTimeout, ConnectionFailed:
        """

    def close(self) -> None:
        """End the connection; closing twice is fine."""
