"""stestr over functional/, with what the scenarios say shown as they say it."""

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

    What they say arrives in ``logs``/scenario.log, for stestr keeps a test's
    own output until it ends.

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


def _follow(path: Path, finished: threading.Event) -> None:
    """Print what is appended to a file until it is finished."""
    shown = 0
    while True:
        last_look = finished.is_set()
        if path.exists():
            with path.open() as file:
                file.seek(shown)
                sys.stdout.write(file.read())
                sys.stdout.flush()
                shown = file.tell()
        if last_look:
            return
        time.sleep(0.5)
