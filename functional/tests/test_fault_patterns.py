"""The faults that scenarios inject: on the simulated cluster, each strikes a command."""

import json
import re
from collections.abc import Sequence

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
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.operations import modify
from mgmt_drivers.testing import made_certificates
from mgmt_drivers.testing.simulated_cloud import MASTERS, WORKERS, SimulatedClusterTest
from mgmt_drivers.testing.simulation import SimulatedSession
from mgmt_drivers.tests.test_changes import ALL

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

    def test_changes(self) -> None:
        others = {key: value for key, value in self.params.items() if key != "helm"}
        self.params = {**others, "kubernetes_version": "1.37.2"}
        self.build()
        self.world.have("v1.37.2")
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
        others = {key: value for key, value in self.params.items() if key != "helm"}
        self.params = {**others, "kubernetes_version": "1.35.3"}
        self.build()
        self.world.have("v1.35.3")
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
