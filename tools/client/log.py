"""The log of the steps on the cloud, with their times, and the share of idle CPUs."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.client.config import CONFIG

_STARTED = time.monotonic()


def log(text: str) -> None:
    """Add a line to scenario.log, which tools.scenarios shows, since stestr captures stdout."""
    line = f"[{time.monotonic() - _STARTED:7.1f} s] {text}"
    CONFIG.logs.mkdir(parents=True, exist_ok=True)
    with (CONFIG.logs / "scenario.log").open("a") as file:
        file.write(line + "\n")


@contextmanager
def step(text: str) -> Iterator[None]:
    """Log the start and the end of a step; its time is kept in steps.jsonl too."""
    log(f"{text} ...")
    clock = Clock()
    try:
        yield
    except BaseException as error:
        log(f"{text}: FAILED after {clock.read()[0]:.1f} s: {type(error).__name__}")
        raise
    seconds, idle = clock.read()
    log(f"{text}: {seconds:.1f} s")
    entry = {"step": text, "seconds": round(seconds, 1), "idle": round(idle, 2)}
    with (CONFIG.logs / "steps.jsonl").open("a") as file:
        file.write(json.dumps(entry) + "\n")


class Clock:
    """Measures the time, and the share of idle CPUs, since its creation."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._ticks = _cpu_ticks()

    def read(self) -> tuple[float, float]:
        """Seconds, and the share of them in which this machine's CPUs were idle."""
        idle, total = (now - then for now, then in zip(_cpu_ticks(), self._ticks, strict=True))
        return time.monotonic() - self._start, idle / (total or 1)


def _cpu_ticks() -> tuple[int, int]:
    """The idle time and the total time of this machine's CPUs, in ticks."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)
