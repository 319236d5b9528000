"""One step of an operation on one host, and the hosts on which an operation runs its steps."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import ClassVar, Final, Generic, Literal, Protocol, TypeVar

from mgmt_drivers.engine.trace import CHANGED, CHECKED, UNCHANGED, Outcome
from mgmt_drivers.machine.host import Host

C = TypeVar("C")  # what the operation knows when it begins, immutable
C_contra = TypeVar("C_contra", contravariant=True)
F = TypeVar("F")  # what a look finds to be done
T = TypeVar("T")

Step = Callable[[Host, C], Outcome]
DEPENDS: Final = "depends"


@dataclass(frozen=True)
class Prediction:
    """The effect that a step would have on a host; ``depends``: known only when it is taken.

    ``reason`` says what would change, or on what it depends.
    """

    outcome: Literal["changed", "unchanged", "checked", "depends"]
    reason: str = ""


class Ask(Protocol):
    """Asks one host for something that all hosts of a phase need; the trace notes it."""

    def __call__(
        self, host: Host, question: Callable[[Host], T], outcome: Outcome = CHECKED
    ) -> T: ...


class Phase(ABC, Generic[C_contra]):
    """One step of an operation, safe to run again.

    ``title`` names the phase in logs, traces and errors. For dry runs, ``prediction`` is the effect
    of a phase that cannot be told from a look, and ``on_new_machine`` that on a machine which is
    not there yet.
    """

    title: str
    prediction: ClassVar[Prediction | None] = None
    on_new_machine: ClassVar[Prediction] = Prediction(CHANGED, "the machine is new")

    @abstractmethod
    def around(self, context: C_contra, ask: Ask) -> AbstractContextManager[Step[C_contra]]:
        """Give the step that is run on each host; not entered without a host.

        Provides what all hosts need, and cleans up when the last has ended, however it did.
        """

    def prepares(self, context: C_contra) -> Sequence[Host]:
        """The hosts that :meth:`around` changes, besides those on which the step is run."""
        return ()

    def predict(self, host: Host, context: C_contra) -> Prediction:
        """Predict the effect of the step on the host from a look. Changes nothing.

        :raises NotMade: if the machine has to be asked, and is not there yet
        """
        raise NotImplementedError("a phase without a look has a prediction")


class HostPhase(Phase[C_contra]):
    """A phase whose hosts need nothing in common."""

    @abstractmethod
    def step(self, host: Host, context: C_contra) -> Outcome:
        """Do the phase's work on one host."""

    @contextmanager
    def around(self, context: C_contra, ask: Ask) -> Iterator[Step[C_contra]]:
        yield self.step


class Check(HostPhase[C_contra]):
    """A phase that only looks, or waits: it passes or raises, and changes nothing."""

    on_new_machine = Prediction(CHECKED)

    @abstractmethod
    def check(self, host: Host, context: C_contra) -> None:
        """:raises MgmtDriverError: saying what is wrong and what to do"""

    def step(self, host: Host, context: C_contra) -> Outcome:
        self.check(host, context)
        return CHECKED

    def predict(self, host: Host, context: C_contra) -> Prediction:
        self.check(host, context)
        return Prediction(CHECKED)


class Change(HostPhase[C_contra], Generic[C_contra, F]):
    """A phase that looks at a host, and acts on what it found."""

    @abstractmethod
    def look(self, host: Host, context: C_contra) -> F | None:
        """Find the work on the host; None if there is none. Changes nothing."""

    @abstractmethod
    def act(self, host: Host, context: C_contra, found: F) -> None:
        """Do what :meth:`look` found."""

    def describe(self, found: F) -> str:
        """The work, in words without secrets; empty if the title says it all."""
        return ""

    def predict(self, host: Host, context: C_contra) -> Prediction:
        found = self.look(host, context)
        return Prediction(UNCHANGED) if found is None else Prediction(CHANGED, self.describe(found))

    def step(self, host: Host, context: C_contra) -> Outcome:
        found = self.look(host, context)
        if found is None:
            return UNCHANGED
        self.act(host, context, found)
        return CHANGED


@dataclass(frozen=True)
class Work(Generic[C_contra]):
    """Phases and the hosts on which an operation runs them, one phase after another.

    Lanes run in parallel. The hosts of one lane come one after another, and the first that fails
    ends its lane. Without hosts the phases are left out.
    """

    lanes: Sequence[Sequence[Host]]
    phases: Sequence[Phase[C_contra]]


def on(hosts: Sequence[Host], *phases: Phase[C]) -> Work[C]:
    """Run each phase on all hosts in parallel."""
    return Work([[host] for host in hosts], phases)


def in_turn(hosts: Sequence[Host], *phases: Phase[C]) -> Work[C]:
    """Run each phase on one host after another."""
    return Work([hosts] if hosts else [], phases)


def in_lanes(number: int, hosts: Sequence[Host], *phases: Phase[C]) -> Work[C]:
    """Run each phase on as many hosts at a time as ``number`` allows."""
    return Work([lane for first in range(number) if (lane := hosts[first::number])], phases)
