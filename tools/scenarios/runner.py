"""Runs scenarios with stestr, after a look at the cloud, and prints their log."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
    with _printed(logs / "scenario.log"):
        stestr = [sys.executable, "-m", "stestr", "--repo-url", str(logs)]
        command = [*stestr, "run", "--serial", "--load-list", str(selected)]
        status = subprocess.run(command, env=environment, check=False).returncode
    _print_long_steps(logs / "steps.jsonl")
    return status


def run_preflight(environment: dict[str, str]) -> int:
    """Tell what the cloud lacks for the scenarios; returns an exit status."""
    command = [sys.executable, "-m", "tools.preflight"]
    return subprocess.run(command, env=environment, check=False).returncode


@contextmanager
def _printed(log: Path) -> Iterator[None]:
    """Print what is appended to a file meanwhile."""
    finished = threading.Event()
    follower = threading.Thread(target=_follow, args=(log, finished))
    follower.start()
    try:
        yield
    finally:
        finished.set()
        follower.join()


def _follow(path: Path, finished: threading.Event) -> None:
    position = 0
    while True:
        last_look = finished.is_set()
        if path.exists():
            with path.open() as file:
                file.seek(position)
                sys.stdout.write(file.read())
                sys.stdout.flush()
                position = file.tell()
        if last_look:
            return
        time.sleep(0.5)


def _print_long_steps(path: Path) -> None:
    """What took long, and which share of this machine's CPUs was idle meanwhile."""
    if not path.exists():
        return
    print(f"\nseconds  CPUs idle  step of {_LONG_STEP:.0f} s or more")
    for step in map(json.loads, path.read_text().splitlines()):
        if step["seconds"] >= _LONG_STEP:
            print(f"{step['seconds']:7.1f}  {step['idle']:8.0%}   {step['step']}")
    sys.stdout.flush()
