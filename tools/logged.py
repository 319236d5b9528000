"""Commands whose output goes to a file, of which a step shows the newest line.

Only Python's standard library is used here: tools/run installs programs on a bare machine.
"""

import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.progress import Step

_PAUSE = 0.5  # seconds between two looks at a file
_TAIL = 30  # lines


class CommandFailed(Exception):
    """A command failed; names the file with its output, and shows the end of it."""


def run(
    command: Sequence[str],
    log: Path,
    show: Callable[[str], None],
    environment: Mapping[str, str] | None = None,
) -> int:
    """Run a command; returns its exit status.

    The command writes into the file itself: a service that it starts may keep its output open.

    :param log: replaced if it is there; its folder is made
    :param show: gets each line
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as file, followed(log, show):
        return subprocess.run(
            command, stdout=file, stderr=subprocess.STDOUT, env=environment, check=False
        ).returncode


def check(
    command: Sequence[str], log: Path, step: Step, environment: Mapping[str, str] | None = None
) -> None:
    """Run a command, of which nothing is printed unless it fails.

    :raises CommandFailed: when its exit status is not 0
    """
    status = run(command, log, step.note, environment)
    if status:
        raise CommandFailed(f"{' '.join(command)} ended with status {status}; {end_of(log)}")


def end_of(log: Path) -> str:
    """Where the output is, and its last lines, for an error."""
    with log.open(errors="replace") as file:
        lines = "".join(deque(file, maxlen=_TAIL)).rstrip("\n")
    return f"its output is in {log}, which ends with\n{lines}"


@contextmanager
def followed(path: Path, show: Callable[[str], None]) -> Iterator[None]:
    """Show each line that is appended to a file meanwhile; the file may not be there yet."""
    finished = threading.Event()
    follower = threading.Thread(target=_follow, args=(path, show, finished))
    follower.start()
    try:
        yield
    finally:
        finished.set()
        follower.join()


def _follow(path: Path, show: Callable[[str], None], finished: threading.Event) -> None:
    position, pending = 0, b""
    while True:
        last_look = finished.is_set()
        if path.exists():
            with path.open("rb") as file:
                file.seek(position)
                *lines, pending = (pending + file.read()).split(b"\n")
                position = file.tell()
            for line in lines:
                show(line.decode(errors="replace"))
        if last_look:
            if pending:
                show(pending.decode(errors="replace"))
            return
        finished.wait(_PAUSE)
