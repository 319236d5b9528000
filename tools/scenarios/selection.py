"""Which scenarios are run: those of the gate, or groups of the long ones."""

import hashlib
import itertools
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.devcloud.identity import CHECKOUT, Identity
from tools.devcloud.images import MIRRORS, NEWEST

_GATE = r"^functional\.(?=test_)"
_FULL = r"^functional\.full\.(?=test_)"
# Series of Kubernetes that groups need beside the newest.
_OLDER = {"series": "1.36", "upgrade": "1.36", "docker": "1.20"}
# Groups that run side by side, about equally long: one alone leaves the CPUs idle half of the time.
# What is in no lane runs before: its nodes are emulated, it kills what all use, or it measures how
# long the API is away, which it is for longer where CPUs are short.
_LANES = (
    ("docker", "faults", "helm", "options"),
    ("affinity", "failures", "openssh", "registry", "samples", "storage"),
)


def groups() -> list[str]:
    """Names of the groups of long scenarios: the modules of functional/full."""
    return sorted(
        path.stem.removeprefix("test_")
        for path in (CHECKOUT / "functional" / "full").glob("test_*.py")
    )


@dataclass(frozen=True)
class Selection:
    """Scenarios: what is to run, what is left out, and the file that keeps what passed, if any."""

    scenarios: tuple[str, ...]
    passed: tuple[str, ...] = ()
    record: Path | None = None

    @property
    def oldest(self) -> str:
        """The oldest series of Kubernetes that a scenario needs."""
        wanted = {
            series
            for group, series in _OLDER.items()
            for name in self.scenarios
            if _is_of(name, [group])
        }
        return [series for series in MIRRORS if series in {NEWEST, *wanted}][-1]

    @property
    def stages(self) -> list[list[tuple[str, ...]]]:
        """What runs one after the other: each is one lane, or lanes side by side."""
        lanes = [tuple(n for n in self.scenarios if _is_of(n, groups)) for groups in _LANES]
        in_lanes = set(itertools.chain(*lanes))
        alone = tuple(name for name in self.scenarios if name not in in_lanes)
        stages = [[lane for lane in stage if lane] for stage in ([alone], lanes)]
        return [stage for stage in stages if stage]


def _is_of(scenario: str, groups: Sequence[str]) -> bool:
    return scenario.startswith(tuple(f"functional.full.test_{group}." for group in groups))


def select(repository: Path, expressions: Sequence[str], record: Path | None = None) -> Selection:
    """The scenarios that match an expression, less those that a record says passed.

    stestr's repository cannot tell what passed: it keeps nothing of a run that was killed.

    :param repository: stestr's, which is made if it is not there
    """
    command = [*stestr(repository), "list", *expressions]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    passed = set(record.read_text().split()) if record and record.exists() else set()
    return Selection(
        tuple(name for name in listed if name not in passed),
        tuple(name for name in listed if name in passed),
        record,
    )


def stestr(repository: Path) -> list[str]:
    """stestr, with a repository of its own, which is made if it is not there.

    Not that of the unit tests, which run at the same time.
    """
    command = [sys.executable, "-m", "stestr", "--repo-url", str(repository)]
    if not (repository / ".stestr").exists():
        repository.mkdir(parents=True, exist_ok=True)
        subprocess.run([*command, "init"], check=True)
    return command


def expressions(full: bool, names: Sequence[str]) -> list[str]:
    """Regular expressions of scenarios.

    :param full: the long ones, by groups, instead of the gate's
    :param names: groups, or regular expressions for names of scenarios; all without any
    """
    start = _FULL if full else _GATE
    known = groups() if full else []
    wanted = [rf"{start}test_{name}\." if name in known else f"{start}.*{name}" for name in names]
    return wanted or [start]


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
