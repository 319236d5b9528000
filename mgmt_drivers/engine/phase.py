"""Phases, the steps of an operation, and the hosts on which an operation runs them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import ClassVar, Final, Generic, Literal, Protocol, TypeVar

from mgmt_drivers.engine.trace import CHANGED, CHECKED, UNCHANGED, Outcome
from mgmt_drivers.machine.host import Host

C = TypeVar("C")  # the context of an operation, such as its cluster; immutable
C_contra = TypeVar("C_contra", contravariant=True)
F = TypeVar("F")  # the change that a look found necessary
T = TypeVar("T")

Step = Callable[[Host, C], Outcome]
DEPENDS: Final = "depends"


@dataclass(frozen=True)
class Prediction:
    """The effect that a step would have on a host; ``depends``: known only when the step runs.

    ``reason`` says what would change, or on what the effect depends.
    """

    outcome: Literal["changed", "unchanged", "checked", "depends"]
    reason: str = ""


class Ask(Protocol):
    """Asks one host for something that all hosts of a phase need; the trace has the question."""

    def __call__(
        self, host: Host, question: Callable[[Host], T], outcome: Outcome = CHECKED
    ) -> T: ...


class Phase(ABC, Generic[C_contra]):
    """One step of an operation, safe to run again.

    ``title`` names the phase in logs, traces and errors. For dry runs, ``prediction`` is the
    prediction of a phase without a look, and ``on_new_machine`` the prediction for a machine that
    does not exist yet.
    """

    title: str
    prediction: ClassVar[Prediction | None] = None
    on_new_machine: ClassVar[Prediction] = Prediction(CHANGED, "the machine is new")

    @abstractmethod
    def around(self, context: C_contra, ask: Ask) -> AbstractContextManager[Step[C_contra]]:
        """Give the step that is run on each host; not entered without a host.

        Provides what all hosts need, and cleans up when the last host has ended, even in an error.
        A cleanup that fails is only logged: it must not hide the errors of hosts.
        """

    def prepares(self, context: C_contra) -> Sequence[Host]:
        """List the hosts that :meth:`around` changes, besides the hosts on which the step runs."""
        return ()

    def predict(self, host: Host, context: C_contra) -> Prediction:
        """Predict the effect by a look alone; raises NotMade if there is no machine yet."""
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
    """A phase that only looks or waits: the check passes or raises, and changes nothing."""

    on_new_machine = Prediction(CHECKED)

    @abstractmethod
    def check(self, host: Host, context: C_contra) -> None:
        """:raises MgmtDriverError: with the fault and the advice"""

    def step(self, host: Host, context: C_contra) -> Outcome:
        self.check(host, context)
        return CHECKED

    def predict(self, host: Host, context: C_contra) -> Prediction:
        self.check(host, context)
        return Prediction(CHECKED)


class Change(HostPhase[C_contra], Generic[C_contra, F]):
    """A phase that looks at a host, and acts if something has to change."""

    @abstractmethod
    def look(self, host: Host, context: C_contra) -> F | None:
        """Find the change that the host needs; None if nothing has to change. Changes nothing."""

    @abstractmethod
    def act(self, host: Host, context: C_contra, change: F) -> None:
        """Make the change that :meth:`look` returned."""

    def describe(self, change: F) -> str:
        """Describe the change in words without secrets; empty if the title is enough."""
        return ""

    def predict(self, host: Host, context: C_contra) -> Prediction:
        change = self.look(host, context)
        if change is None:
            return Prediction(UNCHANGED)
        return Prediction(CHANGED, self.describe(change))

    def step(self, host: Host, context: C_contra) -> Outcome:
        change = self.look(host, context)
        if change is None:
            return UNCHANGED
        self.act(host, context, change)
        return CHANGED


class NamedChange(Change[C_contra, Sequence[str]]):
    """A change of several things, of which :meth:`look` finds the names."""

    def describe(self, change: Sequence[str]) -> str:
        return ", ".join(change)


@dataclass(frozen=True)
class Work(Generic[C_contra]):
    """Phases and the hosts on which an operation runs them, one phase after another.

    Lanes run in parallel, and the hosts of a lane one after another; the first host that fails ends
    its lane. Without hosts the phases are left out.

    A phase waits until the phases before it have succeeded on all hosts, unless ``after`` names the
    hosts to wait for: then the first phase begins on a host when the works before have ended on
    that host and on the hosts in ``after``, and each host goes on by itself from phase to phase.
    Nothing overtakes an earlier work that waits for all hosts.
    """

    lanes: Sequence[Sequence[Host]]
    phases: Sequence[Phase[C_contra]]
    after: Sequence[Host] | None = None


def on(
    hosts: Sequence[Host], *phases: Phase[C], after: Sequence[Host] | None = None
) -> Work[C]:
    """Run each phase on all hosts in parallel."""
    return Work([[host] for host in hosts], phases, after)


def in_turn(
    hosts: Sequence[Host], *phases: Phase[C], after: Sequence[Host] | None = None
) -> Work[C]:
    """Run each phase on one host after another."""
    return Work([hosts] if hosts else [], phases, after)


def in_lanes(number: int, hosts: Sequence[Host], *phases: Phase[C]) -> Work[C]:
    """Run each phase on at most ``number`` hosts at a time."""
    return Work([lane for first in range(number) if (lane := hosts[first::number])], phases)
