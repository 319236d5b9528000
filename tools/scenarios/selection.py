"""The selection of scenarios: the scenarios of the gate, or groups of long scenarios."""

import hashlib
import itertools
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tools.devcloud.identity import CHECKOUT, Identity
from tools.devcloud.recipes import MIRRORS, NEWEST, RELEASES

_GATE = r"^functional\.(?=test_)"
_FULL = r"^functional\.full\.(?=test_)"
# Series of Kubernetes that groups need besides the newest. Add-ons and conformance tests need
# images besides.
_OLDER = {"addons": "addons", "conformance": "conformance", "offline": "1.36",
          "pools": "1.35", "restore": "conformance", "rough_image": "1.36", "serial": "conformance",
          "series": "1.36", "upgrade": "conformance", "upgrade_troubles": "1.36",
          "docker": "1.20"}
# Groups whose cloud is of another release of OpenStack than the newest.
_RELEASES = {"slurp": "2026.1"}
# Groups whose cloud has Prometheus.
_MONITORED = ("autoheal",)
# Lanes of groups that run in parallel, about equally long: a single lane leaves the CPUs idle half
# of the time. Groups in no lane run before: their nodes are emulated, they kill shared services,
# they measure how long the API is unavailable, which takes longer on busy CPUs, or they keep the
# CPUs busy themselves.
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
    """The scenarios to run, the scenarios that have passed, and the file that records passes."""

    scenarios: tuple[str, ...]
    passed: tuple[str, ...] = ()
    record: Path | None = None

    @property
    def oldest(self) -> str:
        """The oldest series of Kubernetes that a scenario needs."""
        needed = {
            series
            for group, series in _OLDER.items()
            for name in self.scenarios
            if _is_of(name, [group])
        }
        return [series for series in MIRRORS if series in {NEWEST, *needed}][-1]

    @property
    def monitoring(self) -> bool:
        """Whether a scenario needs Prometheus."""
        return any(_is_of(name, _MONITORED) for name in self.scenarios)

    def by_release(self) -> dict[str, "Selection"]:
        """The scenarios whose cloud is of the same release, by the release."""
        parts: dict[str, tuple[str, ...]] = {}
        for name in self.scenarios:
            wanted = (release for group, release in _RELEASES.items() if _is_of(name, [group]))
            release = next(wanted, RELEASES[0])
            parts[release] = (*parts.get(release, ()), name)
        return {release: replace(self, scenarios=names) for release, names in parts.items()}

    @property
    def stages(self) -> list[list[tuple[str, ...]]]:
        """The stages, which run one after the other; the lanes of a stage run in parallel."""
        lanes = [tuple(n for n in self.scenarios if _is_of(n, groups)) for groups in _LANES]
        in_lanes = set(itertools.chain(*lanes))
        alone = tuple(name for name in self.scenarios if name not in in_lanes)
        stages = [[lane for lane in stage if lane] for stage in ([alone], lanes)]
        return [stage for stage in stages if stage]


def _is_of(scenario: str, groups: Sequence[str]) -> bool:
    return scenario.startswith(tuple(f"functional.full.test_{group}." for group in groups))


def select(repository: Path, expressions: Sequence[str], record: Path | None = None) -> Selection:
    """Select the scenarios that match an expression, without scenarios that have passed.

    The record is needed because stestr's repository has no results of a run that was killed.

    :param repository: stestr's repository, which is created if it does not exist
    :param record: file with the names of scenarios that have passed
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
    """The command stestr with a repository, which is created if it does not exist.

    The unit tests, which run at the same time, use another repository.
    """
    command = [sys.executable, "-m", "stestr", "--repo-url", str(repository)]
    if not (repository / ".stestr").exists():
        repository.mkdir(parents=True, exist_ok=True)
        subprocess.run([*command, "init"], check=True)
    return command


def expressions(full: bool, names: Sequence[str]) -> list[str]:
    """Regular expressions of scenarios.

    :param full: the long scenarios instead of the gate's
    :param names: groups, or regular expressions for names of scenarios; empty for all
    """
    start = _FULL if full else _GATE
    known = groups() if full else []
    listed = [rf"{start}test_{name}\." if name in known else f"{start}.*{name}" for name in names]
    return listed or [start]


def record_of_passes(cloud: str) -> Path | None:
    """The file with passed scenarios of this commit on a cloud; None if files have changed."""
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
