"""A machine that an operation works on: the node and the session to it."""

from dataclasses import dataclass

from mgmt_drivers.clock import SYSTEM_CLOCK, Clock
from mgmt_drivers.inventory import Node
from mgmt_drivers.ssh.session import DEFAULT_TIMEOUT, Result, Session, Stdin


@dataclass(frozen=True)
class Host:
    """A node with its one open session, shared by every phase, and the time to wait by."""

    node: Node
    session: Session
    clock: Clock = SYSTEM_CLOCK

    def run(self, *argv: str, stdin: Stdin = None, timeout: float = DEFAULT_TIMEOUT) -> str:
        """Run a command as the login user; returns what it printed."""
        return self.session.run(argv, stdin=stdin, timeout=timeout).stdout

    def sudo(self, *argv: str, stdin: Stdin = None, timeout: float = DEFAULT_TIMEOUT) -> str:
        """Run a command as root; returns what it printed."""
        return self.session.run(argv, stdin=stdin, sudo=True, timeout=timeout).stdout

    def ask(self, *argv: str, timeout: float = DEFAULT_TIMEOUT) -> Result:
        """Run a command as root whose exit status is an answer, not an error."""
        return self.session.run(argv, sudo=True, check=False, timeout=timeout)
