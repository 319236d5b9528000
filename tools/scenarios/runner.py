"""Runs the scenarios with stestr, after a look at the cloud, and prints their log."""

import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

_SCENARIOS = r"^functional\.test_"
_LONG = r"^functional\.full\.test_"


def run_scenarios(
    filters: Sequence[str], long: bool, logs: Path, environment: dict[str, str]
) -> int:
    """Run the scenarios one after another; returns stestr's exit status.

    They write ``logs``/scenario.log, since stestr keeps the output of a test
    until the test ends.

    :param long: those that take long, instead of the others
    """
    expression = _LONG if long else _SCENARIOS
    if filters:
        expression += f".*({'|'.join(filters)})"
    command = [sys.executable, "-m", "stestr", "run", "--serial", expression]
    finished = threading.Event()
    follower = threading.Thread(target=_follow, args=(logs / "scenario.log", finished))
    follower.start()
    try:
        environment = {**environment, "FUNCTIONAL_LOGS": str(logs)}
        return subprocess.run(command, env=environment, check=False).returncode
    finally:
        finished.set()
        follower.join()


def run_preflight(environment: dict[str, str]) -> int:
    """Tell what the cloud lacks for the scenarios; returns an exit status."""
    command = [sys.executable, "-m", "tools.preflight"]
    return subprocess.run(command, env=environment, check=False).returncode


def _follow(path: Path, finished: threading.Event) -> None:
    """Print what is appended to a file until it is finished."""
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
