"""The trace of an operation: JSON lines from which a timeline can be drawn.

One object a line: ``operation`` (its name), ``vnf`` (the VNF instance's id),
``phase``, ``node`` (VDU and VNFC), ``start`` and ``end`` (seconds since the
epoch), ``outcome`` (``changed``; ``unchanged``: the node was as it should be;
``checked``: the phase only looks or waits; ``failed``) and, where it failed, ``error``.
"""

import json
import logging
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

LOG = logging.getLogger(__name__)

Outcome = Literal["changed", "unchanged", "checked", "failed"]
CHANGED: Final = "changed"
UNCHANGED: Final = "unchanged"
CHECKED: Final = "checked"
FAILED: Final = "failed"
_MODE = 0o640  # errors quote machines, and what they say is not for everybody


@dataclass(frozen=True)
class Record:
    """What one phase did on one node."""

    operation: str
    vnf: str
    phase: str
    node: str
    start: float
    end: float
    outcome: Outcome
    error: str = ""


class Trace:
    """Writes records to ``folder``/<VNF instance id>.jsonl and to the log.

    A trace that cannot be written is said once in the log and fails nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def add(self, record: Record) -> None:
        LOG.log(
            logging.ERROR if record.outcome == FAILED else logging.INFO,
            "%s of VNF %s: phase '%s' on %s: %s in %.1f s%s",
            record.operation, record.vnf, record.phase, record.node, record.outcome,
            record.end - record.start, f": {record.error}" if record.error else "",
        )
        fields = {key: value for key, value in asdict(record).items() if value != ""}
        with self._lock:
            if self._folder is None:
                return
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                path = self._folder / f"{record.vnf}.jsonl"
                path.touch(_MODE)
                path.chmod(path.stat().st_mode & _MODE)  # earlier versions wrote it for all
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(fields) + "\n")
            except OSError as error:
                LOG.warning("no trace is written: %s", error)
                self._folder = None
