"""Machines of different speed: each goes on when what it needs is done, and waits for no other."""

import dataclasses
import functools
import random
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mgmt_drivers.engine.services import Services
from mgmt_drivers.engine.trace import Record
from mgmt_drivers.errors import CommandFailed, OperationError
from mgmt_drivers.operations import scale_out
from mgmt_drivers.testing.fakes import named
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    NOT_NEW,
    PARAMS,
    STORAGE,
    WORKERS,
    SimulatedClusterTest,
    new_node,
    no_fault,
)
from mgmt_drivers.testing.simulation import Fault, SimulatedSession
from mgmt_drivers.testing.virtual_time import VirtualTime
from tools.timeline import runs
from tools.timeline.runs import Run

# Seconds of the commands that take long, by a word of each; others take a tenth.
_SECONDS = {
    "install_k8s_cluster.sh": 4.0, "pull": 1.5, "apply-unit": 3.0, "init": 15.0, "join": 20.0,
    "write-files": 0.5,
}
_ALL = (*MASTERS, *WORKERS, STORAGE)


def _seconds(argv: Sequence[str]) -> float:
    words = {word.rpartition("/")[2] for word in named(argv)}
    if "hold-lock" in words:
        return 0.0  # in a login
    return max((took for word, took in _SECONDS.items() if word in words), default=0.1)


class WaitingTestCase(SimulatedClusterTest):
    """Operations in virtual time."""

    def run_at(
        self,
        operation: Callable[[Services], None],
        slowness: Mapping[str, float],
        fault: Fault = no_fault,
    ) -> None:
        """Run an operation on machines of different speed.

        :param slowness: by address, how many times as long as usual its commands take
        """
        clock = VirtualTime()

        def before(session: SimulatedSession, argv: Sequence[str]) -> None:
            fault(session, argv)
            seconds = _seconds(argv) * slowness.get(session.machine.address, 1.0)
            if seconds:
                clock.sleep(seconds)

        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        services = self.services(before, clock=clock, trace_folder=Path(folder.name))
        try:
            operation(dataclasses.replace(services, pool=clock.pool))
        finally:
            (self.traced,) = runs.read(Path(folder.name, "vnf-1.jsonl"))

    def made(self, slowness: Mapping[str, float]) -> Run:
        self.build(is_clustered=False)
        self.run_at(self.instantiate, slowness)
        self.assert_whole(masters=3, workers=2)
        self.assert_balanced()
        return self.traced

    def bar(self, phase: str, address: str) -> Record:
        """The only record of a phase on a machine."""
        (found,) = (bar for bar in self.of(address) if bar.phase == phase)
        return found

    def of(self, address: str) -> list[Record]:
        return [bar for bar in self.traced.bars if bar.node.endswith(f" {address})")]

    def chain(self, address: str) -> float:
        """The seconds that a machine was worked on."""
        return sum(bar.end - bar.start for bar in self.of(address))


class InstantiateTest(WaitingTestCase):
    def test_one_slow_machine_holds_up_nothing_but_what_needs_it(self) -> None:
        alike = self.made({})
        path = alike.critical_path
        self.assertLess(alike.end, 1.02 * sum(bar.end - bar.start for bar in path))
        changed = [bar for bar in path if bar.outcome == "changed"]
        # Workers and storage server have changed before they are needed.
        self.assertEqual({*MASTERS}, {a for a in _ALL for bar in changed if bar in self.of(a)})
        for address in _ALL:
            with self.subTest(address):
                slow = self.made({address: 10.0})
                self.assertLess(slow.end, 1.08 * max(alike.end, self.chain(address)))

    def test_a_slow_worker_joins_a_cluster_that_is_ready(self) -> None:
        self.made({WORKERS[0]: 100.0})
        packages = self.bar("install packages", WORKERS[0])
        for address in (*MASTERS[1:], WORKERS[1]):
            self.assertLess(self.bar("join nodes", address).end, packages.end)
        wait = self.bar("wait for nodes to be ready", MASTERS[0])
        self.assertTrue(wait.after.endswith(f" {WORKERS[0]})"), wait)

    def test_images_are_pulled_beside_the_initialization(self) -> None:
        self.made({MASTERS[1]: 2.0})
        initialize = self.bar("initialize the control plane", MASTERS[0])
        balance = self.bar("configure the load balancer", MASTERS[1])
        pull = self.bar("pull images", MASTERS[1])
        self.assertEqual(balance.end, initialize.start)
        self.assertLess(initialize.start, pull.end)
        self.assertGreater(initialize.end, pull.start)

    def test_a_slow_storage_server_holds_up_what_mounts_from_it(self) -> None:
        self.made({STORAGE: 100.0})
        export = self.bar("export volumes over NFS", STORAGE)
        self.assertLess(self.bar("spread cluster DNS", MASTERS[0]).end, export.start)
        self.assertEqual(export.end, self.bar("register PersistentVolumes", MASTERS[0]).start)

    def test_nothing_is_changed_before_all_machines_have_passed_the_checks(self) -> None:
        self.build(is_clustered=False)
        self.machine(WORKERS[0]).clock = 1000.0
        with self.assertRaisesRegex(OperationError, "ahead of"):
            self.run_at(self.instantiate, {WORKERS[0]: 100.0})
        self.assertNotIn("changed", {bar.outcome for bar in self.traced.bars})

    def test_machines_that_fail_at_different_times_are_told_together(self) -> None:
        """Machines fail in one phase or in an earlier one; nothing runs after the operation."""
        def fault(session: SimulatedSession, argv: Sequence[str]) -> None:
            address = session.machine.address
            if address in WORKERS and argv[-1].endswith("install_k8s_cluster.sh"):
                raise CommandFailed("install", 1, f"{address} is full")
            if address == STORAGE and "mkfs.ext4" in argv:
                raise CommandFailed("mkfs.ext4", 1, "the volume is broken")

        self.build(is_clustered=False)
        threads = threading.active_count()
        with self.assertRaises(OperationError) as caught:
            self.run_at(self.instantiate, {WORKERS[1]: 10.0, STORAGE: 0.1}, fault)
        told = [error.phase for error in caught.exception.errors]
        self.assertEqual(["install packages"] * 2 + ["mount volumes"], told)
        self.assertNotIn("join nodes", self.traced.phases)
        self.assertEqual(threads, threading.active_count())
        self.run_at(self.instantiate, {})
        self.assert_whole(masters=3, workers=2)


class AnySpeedTest(WaitingTestCase):
    """Whoever is first and last, nothing comes before what it needs."""

    operation = NOT_NEW

    def speeds(self, seed: int, *more: str) -> Mapping[str, float]:
        dice = random.Random(seed)
        return {address: dice.choice((0.1, 1.0, 10.0, 50.0)) for address in (*_ALL, *more)}

    def test_instantiate(self) -> None:
        for seed in range(5):
            with self.subTest(seed):
                self.params = {**PARAMS, "etcd_backup": {"interval": "1h", "keep": 3}}
                self.made(self.speeds(seed))

    def test_heal(self) -> None:
        for seed in range(5):
            with self.subTest(seed):
                self.build()
                targets = [MASTERS[seed % 3], WORKERS[0], STORAGE]
                ids = self.ids(*targets)
                self.heal_start(self.request(*ids), self.services())
                for address in targets:
                    self.replaced(self.machine(address).node)
                end = functools.partial(self.heal_end, self.request(*ids))
                self.run_at(end, self.speeds(seed))
                self.assert_whole(masters=3, workers=2)
                self.assert_balanced()

    def test_scale_out(self) -> None:
        new = {"10.10.0.12": "master", "10.10.0.121": "master", "10.10.0.20": "worker"}
        for seed in range(5):
            with self.subTest(seed):
                self.build()
                for number, (address, role) in enumerate(new.items(), start=100):
                    self.arrive(new_node(role, number, address))
                request = self.request(*self.ids(*new))
                scale = functools.partial(scale_out.scale_out, request, vims=self.vims)
                self.run_at(scale, self.speeds(seed, *new))
                self.assert_whole(masters=5, workers=3)
                self.assert_balanced()
