"""SSH commands of operations on a simulated cluster of three masters and two workers.

The cluster has the parameters that every cluster has, and one machine is worked on at a time, which
makes the numbers the same each time.
"""

import dataclasses
import logging
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import mgmt_drivers
from mgmt_drivers.engine.services import Services
from mgmt_drivers.operations import modify
from mgmt_drivers.testing.simulated_cloud import MASTERS, PARAMS, STORAGE, SimulatedCloud
from mgmt_drivers.testing.simulation import SimulatedSession

_NAMES = ("script_path", "kubernetes_version", "package_repository", "master_node", "worker_node")
_PLAIN = {name: PARAMS[name] for name in _NAMES}
_OLD, _NEW = "1.36.4", "1.37"
_ROLES = ("master", "worker")
_PRODUCT = str(Path(mgmt_drivers.__file__).parent)
_TESTS = str(Path(_PRODUCT, "test"))  # the start of both tests/ and testing/


def run() -> None:
    """Print a row for each operation."""
    logging.disable(logging.CRITICAL)
    titles = (*_ROLES, "commands", "files", "functions", "operation")
    print("  ".join(titles))
    for operation in (_instantiate, _heal, _upgrade):
        for name, count in operation():
            by_role = [count.commands[role] for role in _ROLES]
            numbers = (*by_role, sum(by_role), len(count.files), len(count.functions))
            row = [f"{n:{len(t)}}" for n, t in zip(numbers, titles, strict=False)]
            print("  ".join([*row, name]), flush=True)


class Count:
    """Commands by the role of their machine, and the product's functions that are entered."""

    def __init__(self) -> None:
        self.commands: Counter[str] = Counter()
        self.functions: set[CodeType] = set()

    @property
    def files(self) -> set[str]:
        return {function.co_filename for function in self.functions}

    def __or__(self, other: "Count") -> "Count":
        both = Count()
        both.commands = self.commands + other.commands
        both.functions = self.functions | other.functions
        return both

    def note_command(self, session: SimulatedSession, argv: Sequence[str]) -> None:
        self.commands[session.machine.role] += 1

    def note_call(self, frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        is_product = code.co_filename.startswith(_PRODUCT)
        if event != "call" or not is_product or code.co_filename.startswith(_TESTS):
            return
        if not code.co_name.startswith("<"):  # comprehensions, which are parts of functions
            self.functions.add(code)


@contextmanager
def _counted(cloud: SimulatedCloud, count: Count) -> Iterator[Services]:
    """Count what is done meanwhile with these services."""
    services = dataclasses.replace(cloud.services(count.note_command), threads=1)
    threading.setprofile(count.note_call)
    sys.setprofile(count.note_call)
    try:
        yield services
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@contextmanager
def _cloud(is_clustered: bool = True, **params: Any) -> Iterator[SimulatedCloud]:
    with tempfile.TemporaryDirectory() as folder:
        cloud = SimulatedCloud(Path(folder))
        cloud.params = {**_PLAIN, **params}
        cloud.build(is_clustered)
        del cloud.world.machines[cloud.machine(STORAGE).node.server_id]
        yield cloud


def _instantiate() -> Iterator[tuple[str, Count]]:
    count = Count()
    with _cloud(is_clustered=False) as cloud, _counted(cloud, count) as services:
        cloud.instantiate(services)
    yield "instantiate", count


def _heal() -> Iterator[tuple[str, Count]]:
    start, end = Count(), Count()
    with _cloud() as cloud:
        target = cloud.machine(MASTERS[0]).node  # etcd's leader, which hands its lead over
        with _counted(cloud, start) as services:
            cloud.heal_start(cloud.request(target.vnfc_id), services)
        cloud.replaced(target)
        with _counted(cloud, end) as services:
            cloud.heal_end(cloud.request(target.vnfc_id), services)
    yield from (("heal_start", start), ("heal_end", end), ("heal of a master", start | end))


def _upgrade() -> Iterator[tuple[str, Count]]:
    count = Count()
    with _cloud(is_clustered=False, kubernetes_version=_OLD) as cloud:
        cloud.instantiate(cloud.services())
        with _counted(cloud, count) as services:
            modify.modify(cloud.request(), services, cloud.vims, {"kubernetes_version": _NEW})
    yield "upgrade", count
