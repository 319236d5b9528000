"""What a phase is: one step of an operation, on every node that needs it."""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from mgmt_drivers.host.host import Host

P = TypeVar("P")  # the parameters of the operation


class Phase(ABC, Generic[P]):
    """One step, safe to run again: ``needed`` looks, ``apply`` acts.

    ``title`` names the phase in logs, traces and errors.
    """

    title: str

    @abstractmethod
    def needed(self, host: Host, params: P) -> bool:
        """Whether there is anything to do on this node; changes nothing."""

    @abstractmethod
    def apply(self, host: Host, params: P) -> None:
        """Do it."""
