"""The dry run of an operation: each phase predicts its effect from its look alone."""

from dataclasses import dataclass
from typing import TypeVar

from mgmt_drivers.engine.phase import DEPENDS, Check, Phase, Prediction
from mgmt_drivers.engine.trace import CHECKED, UNCHANGED
from mgmt_drivers.errors import NotMade
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine.host import Host

C = TypeVar("C")

_AFTERWARDS = Prediction(CHECKED, "afterwards")
_LATER = Prediction(DEPENDS, "on what the steps before have changed")


@dataclass(frozen=True)
class Line:
    """The prediction of one phase for one machine."""

    phase: str
    node: Node
    prediction: Prediction


class DryRun:
    """Collects what a dry run would do.

    Operations that receive it lock no machine and change nothing; the store and the VIMs beside it
    must discard writes. ``lines`` are in the order of the phases. ``is_later``: the phases are of a
    later step, which runs all phases again. ``operation`` is the name that traces will have.
    """

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.is_later = False
        self.operation = ""

    @property
    def changes(self) -> bool:
        """Whether anything would change, so far."""
        return any(line.prediction.outcome not in (CHECKED, UNCHANGED) for line in self.lines)

    def predict(self, phase: Phase[C], host: Host, context: C) -> Prediction:
        """:raises MgmtDriverError: if the operation would be refused"""
        if isinstance(phase, Check) and self.changes:
            return _AFTERWARDS  # the check is about a state that does not exist yet
        if self.is_later:
            return _LATER
        try:
            return phase.prediction or phase.predict(host, context)
        except NotMade:
            return phase.on_new_machine

    def note(self, title: str, node: Node, prediction: Prediction) -> None:
        self.lines.append(Line(title, node, prediction))
