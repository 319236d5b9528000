"""Waiting for a condition, with a limit and the last observation; and what is done meanwhile."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
_SHORTEST, _LONGEST = 0.5, 2.0  # seconds between two looks


def until(look: Callable[[], T], good: Callable[[T], object], limit: float, what: str) -> T:
    """Look twice a second, later every other second, until the result is good; returns the result.

    More frequent looks in a wait of minutes would cost the cloud more than they save.
    """
    start = time.monotonic()
    while True:
        result = look()
        if good(result):
            return result
        waited = time.monotonic() - start
        if waited > limit:
            raise TimeoutError(f"{what}: not within {limit:.0f} s; last seen: {result}")
        time.sleep(min(max(_SHORTEST, waited / 20), _LONGEST))


@contextlib.contextmanager
def meanwhile(act: Callable[[], object], pause: float) -> Iterator[None]:
    """Repeat an act in a thread until the block ends, each time after a pause of these seconds.

    An error of the act ends the repetition. It is raised after the block, if the block has none.
    """
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(pause):
            act()

    with ThreadPoolExecutor(1) as pool:
        repetition = pool.submit(repeat)
        try:
            yield
        finally:
            ended.set()
    repetition.result()
