"""The faults that scenarios inject: on the simulated cluster, each strikes a command.

A scenario with a table retries one operation, and each retry must meet the next fault: one that
names a command of an earlier phase, which is done already, would strike nothing.
"""

import json
import re
from collections.abc import Callable, Sequence

from functional.faults import REPLACED
from functional.full import (
    test_changes,
    test_faults,
    test_pools,
    test_replace,
    test_troubles,
    test_upgrade,
    test_upgrade_troubles,
)
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import ConnectionFailed, MgmtDriverError
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.operations import modify
from mgmt_drivers.testing import made_certificates
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    WORKERS,
    SimulatedClusterTest,
    no_fault,
)
from mgmt_drivers.testing.simulation import SimulatedSession
from mgmt_drivers.tests.test_changes import ALL

Fault = tuple[str, str, str]  # the phase, the kind and the pattern of the command
Faults = Sequence[Fault]


class FaultPatternsTest(SimulatedClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.lines: list[str] = []

    def build_with(self, version: str) -> None:
        """Build a cluster of this version, without Helm."""
        others = {key: value for key, value in self.params.items() if key != "helm"}
        self.params = {**others, "kubernetes_version": version}
        self.build()
        self.world.have(f"v{version}")

    def note(self, session: SimulatedSession, argv: Sequence[str]) -> None:
        self.lines.append(" ".join(argv))

    def assert_each_strikes(self, faults: Faults) -> None:
        for phase, _, pattern in faults:
            with self.subTest(phase=phase, pattern=pattern):
                self.assertTrue(any(re.search(pattern, line, re.DOTALL) for line in self.lines))

    def assert_each_fails(self, faults: Faults, operation: Callable[[Services], None]) -> None:
        """Let each fault strike once on each machine, a retry after the other."""
        for fault in faults:
            with self.subTest(fault=fault):
                self.fail_once(fault, operation)

    def fail_once(self, fault: Fault, operation: Callable[[Services], None]) -> None:
        phase, kind, pattern = fault
        struck: set[str] = set()

        def strike(session: SimulatedSession, argv: Sequence[str]) -> None:
            if session.machine.name in struck or not re.search(pattern, " ".join(argv), re.DOTALL):
                return
            struck.add(session.machine.name)
            session.broken = True
            raise ConnectionFailed("injected fault")

        hooks = (no_fault, strike) if kind == "cut" else (strike, no_fault)
        with self.assertRaisesRegex(MgmtDriverError, f"phase '{phase}'.*injected fault"):
            operation(self.services(*hooks))

    def heal(self, address: str, start: Faults, end: Faults) -> None:
        """Heal a machine: each fault, in one hook and the other, and then no more."""
        self.build()
        machine = self.machine(address)
        name = machine.name
        self.world.nodes[name]["metadata"]["labels"]["rack"] = "r7"
        node = machine.node
        request = self.request(node.vnfc_id)
        self.assert_each_fails(start, lambda services: self.heal_start(request, services))
        self.heal_start(request, self.services(self.note))
        self.replaced(node)
        request = self.request(node.vnfc_id)
        for fault in end:
            self.assert_each_fails([fault], lambda services: self.heal_end(request, services))
            if fault is REPLACED:  # as the scenario does, whose image has the packages
                new = self.machine(address)
                for name in ("installed", "registries"):
                    new.files.pop(f"{STATE_FOLDER}/{name}", None)
                new.images.clear()
        self.heal_end(request, self.services(self.note))

    def test_heal_of_a_worker(self) -> None:
        start = test_faults.faults_of(test_faults.START, "workerNode")
        end = test_faults.faults_of([REPLACED, *test_faults.END], "workerNode")
        self.heal(WORKERS[0], [test_faults.START_OF_WORKER, *start], end)

    def test_heal_of_a_master(self) -> None:
        self.heal(MASTERS[0], test_faults.START, [REPLACED, *test_faults.END])

    def test_heal_without_faults(self) -> None:
        self.heal(MASTERS[0], [], [])
        self.assert_each_strikes([REPLACED, test_replace.FAULT, test_troubles.BEFORE_JOIN])

    def test_upgrade(self) -> None:
        self.build_with("1.36.4")
        wanted = {"kubernetes_version": "1.37.2"}

        def upgrade(services: Services) -> None:
            modify.modify(self.request(), services, self.vims, wanted)

        self.assert_each_fails(test_upgrade.FAULTS, upgrade)
        upgrade(self.services())

    def test_upgrade_without_faults(self) -> None:
        self.build_with("1.36.4")
        wanted = {"kubernetes_version": "1.37.2"}
        modify.modify(self.request(), self.services(self.note), self.vims, wanted)
        self.assert_each_strikes([test_upgrade_troubles.FAULT])

    def test_changes(self) -> None:
        self.build_with("1.37.2")
        for machine in self.world.machines.values():
            machine.services.add("containerd")
        (self.package / "note.yaml").write_text(json.dumps(test_changes.NOTE))
        (self.package / "site.crt").write_bytes(made_certificates.fixed()[1])
        wanted = {key: value for key, value in ALL.items() if not key.endswith("_server")}
        wanted |= {"worker_node": {"labels": test_changes.LABEL}}
        wanted |= {"addons": [{"name": test_changes.ADDON, "manifest_path": "note.yaml"}]}
        del wanted["master_node"]
        modify.modify(self.request(), self.services(self.note), self.vims, wanted)
        self.assert_each_strikes([*test_changes.FAULTS.values()])

    def test_upgrade_by_two_series(self) -> None:
        """A retry after the fault of the second series runs no command of the first."""
        self.build_with("1.35.3")
        wanted = {"kubernetes_version": "1.37.2"}
        (_, _, second), (_, first) = test_pools.SECOND_SERIES, test_pools.FIRST_SERIES

        def strike(session: SimulatedSession, argv: Sequence[str]) -> None:
            self.note(session, argv)
            if re.search(second, self.lines[-1]):
                raise MgmtDriverError("it ends here")

        with self.assertRaisesRegex(MgmtDriverError, "it ends here"):
            modify.modify(self.request(), self.services(strike), self.vims, wanted)
        self.assert_each_strikes([("", "", first)])
        self.lines.clear()
        modify.modify(self.request(), self.services(self.note), self.vims, wanted)
        self.assert_each_strikes([test_pools.SECOND_SERIES])
        self.assertEqual([], [line for line in self.lines if re.search(first, line, re.DOTALL)])
