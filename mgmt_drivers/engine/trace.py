"""The trace of an operation: JSON lines from which a timeline can be drawn.

One object a line: ``operation`` (its name), ``vnf`` (the VNF instance's id), ``phase``, ``node``
(VDU and VNFC), ``start`` and ``end`` (seconds since the epoch), ``outcome`` (``changed``;
``unchanged``: nothing had to change; ``checked``: the phase only looks or waits; ``failed``),
``commands`` (how many the phase has sent over SSH, also to other nodes), if the phase failed,
``error``, and, if the phase has waited for phases on its own or other nodes, ``after``: the node
whose phase ended last of them.
When a phase begins on a node, the outcome is ``running``, and ``end`` is ``start``.
"""

import json
import logging
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

LOG = logging.getLogger(__name__)

Outcome = Literal["changed", "unchanged", "checked", "failed", "running"]
CHANGED: Final = "changed"
UNCHANGED: Final = "unchanged"
CHECKED: Final = "checked"
FAILED: Final = "failed"
RUNNING: Final = "running"
_MODE = 0o640  # errors quote the output of machines, which not everybody may read
_LARGEST = 4 << 20  # bytes (some ten thousand lines); an operation renames a larger file
_OLD = ".1"  # suffix of a renamed file


@dataclass(frozen=True)
class Record:
    """The outcome of one phase on one node, or its beginning."""

    operation: str
    vnf: str
    phase: str
    node: str
    start: float
    end: float
    outcome: Outcome
    error: str = ""
    after: str = ""
    commands: int = 0


class Trace:
    """Writes records to ``folder``/<VNF instance id>.jsonl and to the log.

    A file that has grown is renamed before the first record of an operation; one older file is
    kept. If the trace cannot be written, one warning is logged and the operation goes on.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._has_begun = False

    def begin(self, operation: str, vnf: str, phase: str, node: str, start: float) -> None:
        """Write that a phase begins on a node, for those who watch."""
        self._write(Record(operation, vnf, phase, node, start, start, RUNNING))

    def add(self, record: Record) -> None:
        LOG.log(
            logging.ERROR if record.outcome == FAILED else logging.INFO,
            "%s of VNF %s: phase '%s' on %s: %s in %.1f s%s",
            record.operation, record.vnf, record.phase, record.node, record.outcome,
            record.end - record.start, f": {record.error}" if record.error else "",
        )
        self._write(record)

    def _write(self, record: Record) -> None:
        fields = {key: value for key, value in vars(record).items() if value != ""}
        with self._lock:
            if self._folder is None:
                return
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                path = _path(self._folder, record.vnf)
                path.touch(_MODE)
                if not self._has_begun and path.stat().st_size > _LARGEST:
                    path.replace(f"{path}{_OLD}")
                    path.touch(_MODE)
                self._has_begun = True
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(fields) + "\n")
            except OSError as error:
                LOG.warning("no trace is written: %s", error)
                self._folder = None


def remove(folder: Path | None, vnf: str) -> None:
    if folder is None:
        return
    path = _path(folder, vnf)
    try:
        for file in (path, Path(f"{path}{_OLD}")):
            file.unlink(missing_ok=True)
    except OSError as error:
        LOG.warning("the trace of VNF %s is not removed: %s", vnf, error)


def _path(folder: Path, vnf: str) -> Path:
    return folder / f"{vnf}.jsonl"
