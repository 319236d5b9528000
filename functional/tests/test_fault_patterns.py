"""The faults that scenarios inject: on the simulated cluster, each strikes a command."""

import re
from collections.abc import Sequence

from functional.faults import REPLACED
from functional.full import (
    test_faults,
    test_replace,
    test_troubles,
    test_upgrade,
    test_upgrade_troubles,
)
from mgmt_drivers.operations import modify
from mgmt_drivers.testing.simulated_cloud import MASTERS, WORKERS, SimulatedClusterTest
from mgmt_drivers.testing.simulation import SimulatedSession

Faults = Sequence[tuple[str, str, str]]


class FaultPatternsTest(SimulatedClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.lines: list[str] = []

    def note(self, session: SimulatedSession, argv: Sequence[str]) -> None:
        self.lines.append(" ".join(argv))

    def assert_each_strikes(self, faults: Faults) -> None:
        for phase, _, pattern in faults:
            with self.subTest(phase=phase, pattern=pattern):
                self.assertTrue(any(re.search(pattern, line, re.DOTALL) for line in self.lines))

    def heal(self, address: str) -> None:
        self.build()
        machine = self.machine(address)
        name = machine.name
        self.world.nodes[name]["metadata"]["labels"]["rack"] = "r7"
        node = machine.node
        self.heal_start(self.request(node.vnfc_id), self.services(self.note))
        self.replaced(node)
        self.heal_end(self.request(node.vnfc_id), self.services(self.note))

    def test_heal_of_a_worker(self) -> None:
        self.heal(WORKERS[0])
        table = [*test_faults.START, REPLACED, *test_faults.END]
        faults = test_faults.faults_of(table, "workerNode")
        self.assert_each_strikes([test_faults.START_OF_WORKER, *faults])

    def test_heal_of_a_master(self) -> None:
        self.heal(MASTERS[0])
        others = (REPLACED, test_replace.FAULT, test_troubles.BEFORE_JOIN)
        self.assert_each_strikes([*test_faults.START, *others, *test_faults.END])

    def test_upgrade(self) -> None:
        others = {key: value for key, value in self.params.items() if key != "helm"}
        self.params = {**others, "kubernetes_version": "1.36.4"}
        self.build()
        self.world.have("v1.36.4")
        wanted = {"kubernetes_version": "1.37.2"}
        modify.modify(self.request(), self.services(self.note), self.vims, wanted)
        self.assert_each_strikes([*test_upgrade.FAULTS, test_upgrade_troubles.FAULT])
