"""A strict stand-in for a connection: what was not expected fails the test."""

from collections.abc import Sequence
from pathlib import Path

from mgmt_drivers.errors import CommandFailed
from mgmt_drivers.host.host import Host
from mgmt_drivers.inventory import Node
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh.session import DEFAULT_TIMEOUT, Result, Stdin

NODE = Node("vnfc-1", "PrivateRegistryVDU", "server-1", {"CP1": "192.0.2.10"})


class FakeSession:
    """Answers the expected commands in their order and refuses all others.

    An expected command is given by the words it begins with; ``stdin`` keeps
    what each command was fed.
    """

    def __init__(self) -> None:
        self._script: list[tuple[tuple[str, ...], Result]] = []
        self.ran: list[tuple[str, ...]] = []
        self.stdin: list[bytes] = []
        self.closed = 0

    def expect(self, *words: str, status: int = 0, stdout: str = "", stderr: str = "") -> None:
        self._script.append((words, Result(status, stdout, stderr)))

    def expect_new_file(self) -> None:
        """files.write is to look for a file, which is not there, and to write it."""
        self.expect("sudo", "sh", "-c", status=1)
        self.expect("sudo", "sh", "-c")

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: Stdin = None,
        sudo: bool = False,
        check: bool = True,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Result:
        words = ("sudo", *argv) if sudo else tuple(argv)
        if not self._script:
            raise AssertionError(f"unexpected command: {words}")
        expected, result = self._script.pop(0)
        if words[: len(expected)] != expected:
            raise AssertionError(f"expected {expected}, got {words}")
        self.ran.append(words)
        self.stdin.append(fed(stdin))
        if check and not result.ok:
            raise CommandFailed(" ".join(words), result.status, result.stderr)
        return result

    def close(self) -> None:
        self.closed += 1

    def assert_done(self) -> None:
        assert not self._script, f"not run: {self._script}"


def fed(stdin: Stdin) -> bytes:
    """What a command reads on its standard input."""
    if isinstance(stdin, Path):
        return stdin.read_bytes()
    if isinstance(stdin, Secret):
        stdin = stdin.reveal()
    return stdin.encode() if isinstance(stdin, str) else stdin or b""


def fake_host() -> tuple[Host, FakeSession]:
    session = FakeSession()
    return Host(NODE, session), session
