"""Traces, read and sorted: which records belong together."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from mgmt_drivers.engine.trace import FAILED, Record
from mgmt_drivers.operations.opening import CHECK_LOGIN, GATHER

FIRST_PHASE = "connect"  # with which every run of a plan begins
# The titles under which an operation connects, perhaps several times, before its plan.
_CONNECTING = {FIRST_PHASE, "choose a control-plane node", GATHER, CHECK_LOGIN}
# Seconds after which a connection is that of another run: Heat works for longer than that between
# the two parts of an operation, of which the first may have found no machine that answers.
_PAUSE = 5.0


class NoTrace(Exception):
    """A file that holds no trace."""


@dataclass
class Run:
    """A plan that was carried out once: before Heat's part of an operation, or after it."""

    operation: str
    vnf: str
    bars: list[Record] = field(default_factory=list)

    @property
    def start(self) -> float:
        return min(bar.start for bar in self.bars)

    @property
    def end(self) -> float:
        return max(bar.end for bar in self.bars)

    @property
    def nodes(self) -> list[str]:
        """In the order in which they first did something."""
        return list(dict.fromkeys(bar.node for bar in self.bars))

    @property
    def phases(self) -> list[str]:
        return list(dict.fromkeys(bar.phase for bar in self.bars))

    @property
    def failed(self) -> bool:
        return any(bar.outcome == FAILED for bar in self.bars)


def read(path: Path) -> list[Run]:
    """The runs in a trace, the oldest first.

    :raises NoTrace: when there is none
    """
    found: list[Run] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            bar = Record(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise NoTrace(f"{path}, line {number}: no record of a trace ({error})") from error
        if not (found and _continues(found[-1], bar)):
            found.append(Run(bar.operation, bar.vnf))
        found[-1].bars.append(bar)
    if not found:
        raise NoTrace(f"{path} is empty")
    return found


def _continues(run: Run, bar: Record) -> bool:
    """Whether a record belongs to the run of the records before it."""
    if bar.operation != run.operation:
        return False
    if bar.phase != FIRST_PHASE:
        return True
    return set(run.phases) <= _CONNECTING and bar.start - run.end < _PAUSE
