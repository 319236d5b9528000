"""Scale-out by many workers over scale-out by one, on simulated machines with real threads.

Each command of the driver takes 50 ms, and four run at a time on one machine, as over SSH.
"""

import logging
import multiprocessing
import resource
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from mgmt_drivers.clock import Clock
from mgmt_drivers.operations import scale_out
from mgmt_drivers.testing.simulated_cloud import SimulatedCloud, new_node
from mgmt_drivers.testing.simulation import SimulatedSession

_COMMAND = 0.05  # seconds
_SESSIONS = 4  # at a time on one connection
_LIMITS = {1: 1.0, 16: 1.3, 50: 1.3, 100: 1.6}  # workers: how many times the time of one


def run(rounds: int) -> None:
    """Print a row for each number of workers: seconds, their ratio, and memory."""
    print(f"{'workers':>7} {'seconds':>8} {'ratio':>6} {'limit':>6} {'memory':>8}")
    one = 0.0
    for workers, limit in _LIMITS.items():
        # A process for each, so that its memory is its own.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(max_workers=1, mp_context=context) as process:
            took, memory = process.submit(_measure, workers, rounds).result()
        one = one or took
        print(
            f"{workers:7d} {took:8.2f} {took / one:6.2f} {limit:6.1f} {memory:5.0f} MB", flush=True
        )


def _measure(workers: int, rounds: int) -> tuple[float, float]:
    """Median of the seconds of a scale-out, and the process' peak memory in MB."""
    logging.disable(logging.CRITICAL)
    took = [_scale_out(workers) for _ in range(rounds)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return statistics.median(took), peak / 1024


def _scale_out(workers: int) -> float:
    places: dict[str, threading.Semaphore] = defaultdict(lambda: threading.Semaphore(_SESSIONS))

    def before(session: SimulatedSession, argv: Sequence[str]) -> None:
        with places[session.machine.address]:
            time.sleep(_COMMAND)

    with tempfile.TemporaryDirectory() as folder:
        cloud = SimulatedCloud(Path(folder))
        cloud.build()
        new = [new_node("worker", 1000 + n, f"10.10.1.{n}") for n in range(workers)]
        for node in new:
            cloud.arrive(node)
        request = cloud.request(*(node.vnfc_id for node in new))
        services = cloud.services(before, clock=Clock())
        start = time.monotonic()
        scale_out.scale_out(request, services, cloud.vims)
        return time.monotonic() - start
