"""What a phase is: one step of an operation, on every node that needs it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from mgmt_drivers.host.host import Host

C = TypeVar("C")  # what the operation knows: its parameters, or more


class Phase(ABC, Generic[C]):
    """One step, safe to run again: ``needed`` looks, ``apply`` acts.

    Both are called for all nodes at once. ``title`` names the phase in logs,
    traces and errors.
    """

    title: str

    @abstractmethod
    def needed(self, host: Host, context: C) -> bool:
        """Whether there is anything to do on this node; changes nothing."""

    @abstractmethod
    def apply(self, host: Host, context: C) -> None:
        """Do it."""

    @contextmanager
    def around(self, context: C) -> Iterator[None]:
        """What is to be undone once the phase has ended on all nodes, however it did."""
        yield


class Check(Phase[C]):
    """A phase that only looks: it passes, raises, or notes what it found in the context."""

    @abstractmethod
    def check(self, host: Host, context: C) -> None:
        """Called for every node; changes nothing there."""

    def needed(self, host: Host, context: C) -> bool:
        self.check(host, context)
        return False

    def apply(self, host: Host, context: C) -> None:
        """Nothing is ever to be done."""
