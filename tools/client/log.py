"""The log of what is done to the cloud, and of how long each step takes."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

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
    start = time.monotonic()
    try:
        yield
    except BaseException as error:
        log(f"{text}: FAILED after {time.monotonic() - start:.1f} s: {type(error).__name__}")
        raise
    took = time.monotonic() - start
    log(f"{text}: {took:.1f} s")
    with (CONFIG.logs / "steps.jsonl").open("a") as file:
        file.write(json.dumps({"step": text, "seconds": round(took, 1)}) + "\n")
