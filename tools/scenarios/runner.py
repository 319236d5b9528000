"""Runs scenarios with stestr, after a look at the cloud, and shows their log."""

import json
import subprocess
import sys
from pathlib import Path

from tools.client.log import Clock
from tools.logged import end_of, followed, run
from tools.progress import Progress, print_error
from tools.scenarios.selection import Selection

_LONG_STEP = 10.0  # seconds


def run_scenarios(selection: Selection, logs: Path, environment: dict[str, str]) -> int:
    """Run the scenarios one after another; returns stestr's exit status.

    They write ``logs``/scenario.log, since stestr keeps the output of a test until the test ends.

    :param logs: also stestr's repository
    """
    selected = logs / "selected"
    selected.write_text("\n".join(selection.scenarios))
    record = str(selection.record or "")
    environment = {**environment, "FUNCTIONAL_LOGS": str(logs), "FUNCTIONAL_PASSED": record}
    stestr = [sys.executable, "-m", "stestr", "--repo-url", str(logs)]
    command = [*stestr, "run", "--serial", "--load-list", str(selected)]
    output = logs / "stestr.log"
    progress, clock = Progress(), Clock()
    with (
        progress.step(f"running {len(selection.scenarios)} scenarios") as step,
        followed(logs / "scenario.log", step.echo),
    ):
        status = run(command, output, step.echo, environment)
        step.failed = status != 0
    if status and progress.live:
        print_error(f"stestr failed; {end_of(output)}")
    _print_long_steps(logs / "steps.jsonl", *clock.read())
    return status


def run_preflight(environment: dict[str, str]) -> int:
    """Tell what the cloud lacks for the scenarios; returns an exit status."""
    command = [sys.executable, "-m", "tools.preflight"]
    return subprocess.run(command, env=environment, check=False).returncode


def _print_long_steps(path: Path, seconds: float, idle: float) -> None:
    """What took long, and which share of this machine's CPUs was idle meanwhile."""
    steps = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    print(f"\nseconds  CPUs idle  step of {_LONG_STEP:.0f} s or more")
    for step in [*steps, {"seconds": seconds, "idle": idle, "step": "all"}]:
        if step["seconds"] >= _LONG_STEP:
            print(f"{step['seconds']:7.1f}  {step['idle']:8.0%}   {step['step']}")
    sys.stdout.flush()
