"""Reads traces, and groups the records that belong together."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mgmt_drivers.engine.trace import RUNNING, Record
from mgmt_drivers.operations.opening import CHECK_LOGIN, GATHER
from mgmt_drivers.setup.preflight import WaitForCloudInit

FIRST_PHASE = "connect"  # title of the first record of every run
# Titles of records before the last login of a run, perhaps several times.
_CONNECTING = {
    FIRST_PHASE, "choose a control-plane node", GATHER, CHECK_LOGIN, WaitForCloudInit.title
}
# Seconds after which a login begins another run: Heat needs longer between the two parts of an
# operation, and in the first part no machine may have answered.
_PAUSE = 5.0


class NoTrace(Exception):
    """The file is not a trace."""


@dataclass
class Run:
    """One run of an operation's phases, before or after Heat's part of the operation."""

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
        """The nodes in the order of their first records."""
        return list(dict.fromkeys(bar.node for bar in self.bars))

    @property
    def phases(self) -> list[str]:
        return list(dict.fromkeys(bar.phase for bar in self.bars))

    @property
    def critical_path(self) -> list[Record]:
        """The records that decided how long the run took: each waited for the one before it.

        That is the last one of the node in its ``after``; without ``after``, as in logins and
        traces of earlier versions of the drivers, the last one of any node.
        """
        path: list[Record] = []
        for bar in reversed(sorted(self.bars, key=lambda bar: bar.end)):
            if not path or (bar.end <= path[-1].start and path[-1].after in ("", bar.node)):
                path.append(bar)
        return path[::-1]


def read(path: Path) -> list[Run]:
    """Read the runs in a trace, the oldest first.

    :raises NoTrace: if the file is not a trace, or has no phase that ended
    """
    return parse(path.read_text(encoding="utf-8"), path)


def parse(text: str, path: object) -> list[Run]:
    """Read the runs in the text of a trace, as :func:`read` does; errors name the path."""
    runs: list[Run] = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            bar = Record(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise NoTrace(f"{path}, line {number}: not a record of a trace ({error})") from error
        if bar.outcome == RUNNING:
            continue
        if not (runs and _continues(runs[-1], bar)):
            runs.append(Run(bar.operation, bar.vnf))
        runs[-1].bars.append(bar)
    if not runs:
        raise NoTrace(f"{path} has no phase that ended")
    return runs


def seconds(bars: Sequence[Record]) -> float:
    """The time of the phases, one after another."""
    return sum(bar.end - bar.start for bar in bars)


def _continues(run: Run, bar: Record) -> bool:
    """Whether a record belongs to the run of the records before it."""
    if bar.operation != run.operation:
        return False
    if bar.phase != FIRST_PHASE:
        return True
    return set(run.phases) <= _CONNECTING and bar.start - run.end < _PAUSE
