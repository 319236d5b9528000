"""A machine that an operation works on: the node and the session to it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mgmt_drivers.clock import SYSTEM_CLOCK, Clock, NotYet
from mgmt_drivers.inventory import Node
from mgmt_drivers.ssh.session import DEFAULT_OUTPUT, DEFAULT_TIMEOUT, Result, Session, Stdin

T = TypeVar("T")


@dataclass(eq=False)
class Host:
    """A node with its only session; ``reopen`` opens another one when the machine has rebooted."""

    node: Node
    session: Session
    clock: Clock = SYSTEM_CLOCK
    reopen: Callable[[], Session] | None = field(default=None, repr=False)
    _facts: dict[str, Any] = field(default_factory=dict, repr=False)

    def reconnect(self) -> None:
        """Log in again to a machine that reboots, and forget all facts about it."""
        assert self.reopen
        self.session.close()
        self.session = self.reopen()
        self._facts.clear()

    def once(self, fact: str, gather: Callable[[], T]) -> T:
        """Gather a fact, and remember it until it is forgotten; one function alone uses a name."""
        if fact not in self._facts:
            self._facts[fact] = gather()
        return self._facts[fact]

    def forget(self, *facts: str) -> None:
        for fact in facts:
            self._facts.pop(fact, None)

    def run(
        self,
        *argv: str,
        stdin: Stdin = None,
        timeout: float = DEFAULT_TIMEOUT,
        limit: int = DEFAULT_OUTPUT,
    ) -> str:
        """Run a command as the login user; returns its standard output."""
        return self.session.run(argv, stdin=stdin, timeout=timeout, limit=limit).stdout

    def sudo(
        self,
        *argv: str,
        stdin: Stdin = None,
        timeout: float = DEFAULT_TIMEOUT,
        limit: int = DEFAULT_OUTPUT,
    ) -> str:
        """Run a command as root; returns its standard output."""
        return self.session.run(argv, stdin=stdin, sudo=True, timeout=timeout, limit=limit).stdout

    def ask(
        self, *argv: str, timeout: float = DEFAULT_TIMEOUT, limit: int = DEFAULT_OUTPUT
    ) -> Result:
        """Run a command as root whose exit status is an answer, not an error."""
        return self.session.run(argv, sudo=True, check=False, timeout=timeout, limit=limit)

    def ask_until_ok(self, *argv: str, within: float, what: str) -> None:
        """Ask until the command succeeds, which shows ``what``; raises WaitTimeout."""

        def succeed() -> None:
            answer = self.ask(*argv)
            if not answer.ok:
                raise NotYet(answer.tail or "no answer")

        self.clock.until(succeed, within, what)
