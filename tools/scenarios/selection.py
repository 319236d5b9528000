"""Which scenarios are run: those of the gate, or groups of the long ones."""

import hashlib
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.devcloud.identity import CHECKOUT, Identity

_GATE = r"^functional\.(?=test_)"
_FULL = r"^functional\.full\.(?=test_)"


def groups() -> list[str]:
    """Names of the groups of long scenarios: the modules of functional/full."""
    return sorted(
        path.stem.removeprefix("test_")
        for path in (CHECKOUT / "functional" / "full").glob("test_*.py")
    )


@dataclass(frozen=True)
class Selection:
    """Scenarios by regular expressions, without those that ``record``, a file, says passed."""

    expressions: tuple[str, ...]
    record: Path | None = None

    def passed(self) -> set[str]:
        record = self.record
        return set(record.read_text().split()) if record and record.exists() else set()


def select(full: bool, names: Sequence[str], record: Path | None = None) -> Selection:
    """Select scenarios.

    :param full: the long ones, by groups, instead of the gate's
    :param names: groups, or regular expressions for names of scenarios; all without any
    """
    start = _FULL if full else _GATE
    known = groups() if full else []
    expressions = [
        rf"{start}test_{name}\." if name in known else f"{start}.*{name}" for name in names
    ]
    return Selection(tuple(expressions or [start]), record)


def record_of_passes(cloud: str) -> Path | None:
    """The file that keeps what passed on this commit on a cloud; none for changed files."""
    status = ["git", "-C", str(CHECKOUT), "status", "--porcelain"]
    head = ["git", "-C", str(CHECKOUT), "rev-parse", "HEAD"]
    try:
        if subprocess.run(status, check=True, capture_output=True, text=True).stdout:
            return None
        commit = subprocess.run(head, check=True, capture_output=True, text=True).stdout.strip()
    except (subprocess.CalledProcessError, FileNotFoundError):
        return None
    name = hashlib.sha256(cloud.encode()).hexdigest()[:8]
    folder = Identity().cache / "passed"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{commit}-{name}"
