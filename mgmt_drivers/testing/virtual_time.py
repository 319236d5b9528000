"""Threads in virtual time: while all of them sleep, time jumps to the end of the next sleep."""

import functools
import heapq
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from mgmt_drivers.clock import Clock


class VirtualTime(Clock):
    """The clock of an operation, and its pool of threads; belongs to the thread that makes it.

    Only one thread that has slept wakes at a time, so that a run is the same each time. The pool
    needs a thread for each piece of work that it is given: time stands still while one waits.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._awake = 1  # threads that do not sleep, and work for which a thread is coming
        self._sleepers: list[tuple[float, int, threading.Event]] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        waking = threading.Event()
        with self._lock:
            heapq.heappush(self._sleepers, (self.now + seconds, next(self._numbers), waking))
        self.count(-1)
        waking.wait()

    def count(self, threads: int) -> None:
        """Count threads that wake, or, below zero, that do not run any more."""
        with self._lock:
            self._awake += threads
            if not self._awake and self._sleepers:
                self.now, _, waking = heapq.heappop(self._sleepers)
                self._awake = 1
                waking.set()

    def pool(self, threads: int) -> ThreadPoolExecutor:
        return _Pool(self, threads)


class _Pool(ThreadPoolExecutor):
    def __init__(self, clock: VirtualTime, threads: int) -> None:
        super().__init__(threads)
        self._clock = clock

    def submit(self, work: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        def counted() -> Any:
            try:
                return work(*args, **options)
            finally:
                self._clock.count(-1)

        self._clock.count(1)
        future = super().submit(counted)
        for name in ("result", "exception"):
            setattr(future, name, functools.partial(self._wait, getattr(future, name)))
        return future

    def _wait(self, get: Callable[..., Any], timeout: float | None = None) -> Any:
        """The thread that waits for a result does not run."""
        self._clock.count(-1)
        try:
            return get(timeout)
        finally:
            self._clock.count(1)
