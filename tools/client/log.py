"""The log of what is done to the cloud, of how long each step takes, and how idle CPUs are."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.client.config import CONFIG

_STARTED = time.monotonic()


def log(text: str) -> None:
    """Add a line to scenario.log, which tools.scenarios shows while stestr captures stdout."""
    line = f"[{time.monotonic() - _STARTED:7.1f} s] {text}"
    CONFIG.logs.mkdir(parents=True, exist_ok=True)
    with (CONFIG.logs / "scenario.log").open("a") as file:
        file.write(line + "\n")


@contextmanager
def step(text: str) -> Iterator[None]:
    """Log the start and the end of a step; its time is kept in steps.jsonl too."""
    log(f"{text} ...")
    start, before = time.monotonic(), _cpu_ticks()
    try:
        yield
    except BaseException as error:
        log(f"{text}: FAILED after {time.monotonic() - start:.1f} s: {type(error).__name__}")
        raise
    took = time.monotonic() - start
    log(f"{text}: {took:.1f} s")
    idle, total = (now - then for now, then in zip(_cpu_ticks(), before, strict=True))
    entry = {"step": text, "seconds": round(took, 1), "idle": round(idle / (total or 1), 2)}
    with (CONFIG.logs / "steps.jsonl").open("a") as file:
        file.write(json.dumps(entry) + "\n")


def _cpu_ticks() -> tuple[int, int]:
    """How long this machine's CPUs have been idle, and how long they have been there."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)
