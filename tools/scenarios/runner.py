"""Checks the cloud, runs scenarios with stestr, and shows their log."""

import itertools
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tools.client.log import Clock
from tools.devcloud.identity import CHECKOUT
from tools.logged import end_of, followed, run
from tools.progress import Progress, print_error
from tools.scenarios.report import print_report
from tools.scenarios.selection import Selection, stestr


def run_scenarios(selection: Selection, logs: Path, environment: Mapping[str, str]) -> int:
    """Run the scenarios of each lane one after another; returns an exit status.

    Scenarios write scenario.log, since stestr keeps the output of a test until the test ends.

    :param logs: folder of a single lane; several lanes have their own folders in this folder
    """
    environment = {**environment, "FUNCTIONAL_PASSED": str(selection.record or "")}
    progress, clock = Progress(), Clock()
    stages = _stages(selection, logs)
    statuses: list[int] = []
    try:
        for lanes in stages:
            with ThreadPoolExecutor(len(lanes)) as pool:
                statuses += pool.map(lambda lane: lane.run(progress, environment), lanes)
    finally:  # after Ctrl-C, too
        print_report([lane.logs for lanes in stages for lane in lanes], *clock.read())
    return max(statuses)


@dataclass(frozen=True)
class _Lane:
    """Scenarios that run one after another, in a process and with folders of their own.

    The workers of a single stestr would share their environment, and so the folders.

    :param name: prefix of the lines of the lane's log; empty for a single lane
    """

    name: str
    scenarios: Sequence[str]
    logs: Path
    folders: Mapping[str, str]

    def run(self, progress: Progress, environment: Mapping[str, str]) -> int:
        """Run stestr and print its output at the end; returns its exit status."""
        selected = self.logs / "selected"
        command = [*stestr(self.logs), "run", "--serial", "--load-list", str(selected)]
        selected.write_text("\n".join(self.scenarios))
        output = self.logs / "stestr.log"
        with (
            progress.step(f"{self.name}running {len(self.scenarios)} scenarios") as step,
            followed(self.logs / "scenario.log", lambda line: step.echo(f"{self.name}{line}")),
        ):
            status = run(command, output, step.note, {**environment, **self.folders})
            step.failed = status != 0
        if not progress.live:
            step.echo(output.read_text(errors="replace"))
        elif status:
            print_error(f"stestr failed; {end_of(output)}")
        return status


def _stages(selection: Selection, logs: Path) -> list[list[_Lane]]:
    """The lanes of each stage, each with its own folders for builds and logs."""
    stages = selection.stages
    if [len(lanes) for lanes in stages] == [1]:
        return [[_Lane("", stages[0][0], logs, {"FUNCTIONAL_LOGS": str(logs)})]]
    numbers = itertools.count(1)
    return [[_numbered(next(numbers), lane, logs) for lane in lanes] for lanes in stages]


def _numbered(number: int, scenarios: Sequence[str], logs: Path) -> _Lane:
    name = f"lane-{number}"
    build = CHECKOUT / "build" / name
    folders = {"FUNCTIONAL_LOGS": str(logs / name), "FUNCTIONAL_BUILD": str(build)}
    return _Lane(f"{name}: ", scenarios, logs / name, folders)


def run_preflight(environment: dict[str, str]) -> int:
    """Print the resources that the cloud lacks for the scenarios; returns an exit status."""
    command = [sys.executable, "-m", "tools.preflight"]
    return subprocess.run(command, env=environment, check=False).returncode
