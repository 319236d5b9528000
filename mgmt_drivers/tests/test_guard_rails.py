"""Heals that nobody typed, on a simulated cluster: what each guard rail refuses."""

import copy
import dataclasses
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from mgmt_drivers import kubernetes_v2
from mgmt_drivers.clock import Clock
from mgmt_drivers.cluster.etcd.etcd import EtcdUnreadable
from mgmt_drivers.cluster.self_healing import heal_history
from mgmt_drivers.cluster.self_healing.rail_params import Limits
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import Locked, MgmtDriverError, WaitTimeout
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.testing.fakes import FakeClock, MemoryStore
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    STORAGE,
    WORKERS,
    SimulatedClusterTest,
    no_fault,
)
from mgmt_drivers.testing.simulated_world import Machine
from mgmt_drivers.testing.simulation import Fault
from mgmt_drivers.tests.test_v2 import HookCaller

_AUTOMATIC = {"isAutomaticInvocation": True}
_CORDONED = {"tacker-mgmt-drivers/cordoned": "upgrade"}


class GuardRailsTest(SimulatedClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.build()
        self.clock = FakeClock()

    def services(
        self,
        before: Fault = no_fault,
        after: Fault = no_fault,
        clock: Clock | None = None,
        trace_folder: Path | None = None,
    ) -> Services:
        return super().services(before, after, clock or self.clock, trace_folder)

    def automatic(self, *addresses: str) -> LcmRequest:
        return dataclasses.replace(self.request(*self.ids(*addresses)), is_automatic=True)

    def kill(self, *addresses: str) -> None:
        for address in addresses:
            self.machine(address).alive = False

    def healed(self, address: str) -> None:
        """A dead machine is healed automatically."""
        self.kill(address)
        self.heal_start(self.automatic(address), self.services())
        self.replaced(self.machine(address).node)
        self.heal_end(self.automatic(address), self.services())

    def refused(self, rail: str, words: str, *addresses: str) -> None:
        """An automatic heal of these is refused and changes nothing."""
        before = copy.deepcopy((self.world.nodes, self.world.members, self.vims.registered))
        files = {m.name: dict(m.files) for m in self.world.machines.values()}
        with self.assertRaisesRegex(MgmtDriverError, f'guard rail "{rail}".*{words}') as caught:
            self.heal_start(self.automatic(*addresses), self.services())
        text = str(caught.exception)
        self.assertIn("nothing was changed", text)
        self.assertIn("or end it with fail", text)
        self.assertEqual(before, (self.world.nodes, self.world.members, self.vims.registered))
        self.assertEqual(files, {m.name: m.files for m in self.world.machines.values()})
        self.assertFalse(heal_history.has_passed(self.store))

    def test_dead_machines_are_healed(self) -> None:
        for address in (WORKERS[0], MASTERS[0]):
            self.healed(address)
            self.assert_whole(3, 2)
            self.clock.now += 300

    def test_a_machine_that_answers_and_is_ill_is_healed(self) -> None:
        worker, master = self.machine(WORKERS[0]), self.machine(MASTERS[0])
        worker.kubelet_runs = False
        self.heal_start(self.automatic(WORKERS[0]), self.services())
        self.assertNotIn(worker.name, self.world.nodes)
        self.build()
        master = self.machine(MASTERS[0])
        master.etcd_runs = False
        self.heal_start(self.automatic(MASTERS[0]), self.services())
        self.assertNotIn(master.name, self.world.nodes)

    def test_a_machine_whose_disk_is_full_is_healed(self) -> None:
        """kubelet tells no pressure on a disk that it does not watch."""
        for address, full in ((WORKERS[0], {"free": 599}), (MASTERS[0], {"free_inodes": 59})):
            self.build()
            machine = self.machine(address)
            vars(machine).update(full)
            self.heal_start(self.automatic(address), self.services())
            self.assertNotIn(machine.name, self.world.nodes)

    def test_a_machine_that_is_well_is_not_healed(self) -> None:
        for address in (WORKERS[0], MASTERS[0], STORAGE):
            self.refused("machine is well", "as after a reboot", address)

    def test_one_that_is_well_beside_one_that_is_dead(self) -> None:
        self.kill(WORKERS[1])
        self.refused("machine is well", "next alert heals the machines that are", *WORKERS)

    def test_no_more_than_a_share(self) -> None:
        """Two of six machines may be ill: machines that the request does not name count, too."""
        self.kill(WORKERS[0], STORAGE)
        self.heal_start(self.automatic(WORKERS[0]), self.services())
        self.build()
        self.kill(*WORKERS, STORAGE)
        self.refused(
            "share of machines", "3 of 6 machines .*share allows 2: .*not answer", WORKERS[0]
        )
        self.refused("share of machines", "3 of 6 machines", *WORKERS)
        self.params = {**self.params, "automatic_heal": {"share": 50}}
        self.heal_start(self.automatic(*WORKERS), self.services())

    def test_machines_that_were_just_healed_count(self) -> None:
        self.params = {**self.params, "automatic_heal": {"share": 17}}
        self.healed(WORKERS[0])
        self.kill(WORKERS[1])
        self.refused("share of machines", "just healed", WORKERS[1])
        self.clock.now += 300
        self.heal_start(self.automatic(WORKERS[1]), self.services())

    def test_one_machine_is_always_healed(self) -> None:
        self.assertEqual([1, 1, 2, 40], [Limits().machines(n) for n in (1, 3, 5, 100)])

    def test_no_more_than_three_times_an_hour(self) -> None:
        for _ in range(3):
            self.healed(WORKERS[0])
            self.clock.now += 600
        self.kill(WORKERS[0])
        self.refused("times an hour", "3 automatic heals.*begin in 30 minutes", WORKERS[0])
        self.assertEqual(0, self.machine(WORKERS[0]).alive)
        self.params = {**self.params, "automatic_heal": {"heals_an_hour": 4}}
        self.heal_start(self.automatic(WORKERS[0]), self.services())
        self.store.save("automatic_heal_passed", False)
        del self.params["automatic_heal"]
        self.clock.now += 1801
        self.heal_start(self.automatic(WORKERS[0]), self.services())

    def test_a_history_that_somebody_changed(self) -> None:
        for kept in ({"w": 1}, {"w": ["x"]}):
            store = MemoryStore()
            store.save("automatic_heals", kept)
            with self.assertRaisesRegex(MgmtDriverError, "are not lists of times: restore"):
                heal_history.load(store, 0.0)

    def test_the_quorum(self) -> None:
        self.kill(*MASTERS[:2])
        self.refused("quorum", "etcd has 3 voters.*2 must be healthy and 1 are", MASTERS[0])

    def test_the_control_plane_as_a_whole(self) -> None:
        """The only master of a simple cluster is such a one."""
        self.refused("quorum", "no control-plane node of the cluster would be left", *MASTERS)

    def test_a_cluster_that_cannot_be_reached(self) -> None:
        self.deaf = {*MASTERS, *WORKERS, STORAGE}
        self.refused("cluster unreachable", "no machine of the VNF answers", WORKERS[0])
        self.deaf = {*MASTERS, WORKERS[0]}
        self.refused("cluster unreachable", "no answer.*Look at the network", WORKERS[0])
        self.deaf = set()
        self.world.unhealthy = {self.machine(address).name for address in MASTERS}
        self.refused("cluster unreachable", "apiserver is not ready", WORKERS[0])

    def test_a_cluster_that_stops_to_answer(self) -> None:
        """The look of the rails changes nothing; its error must not wait for a person."""

        def silent(word: str, error: MgmtDriverError) -> Fault:
            def before(session: Any, argv: Any) -> None:
                if word in argv:
                    raise error

            return before

        self.kill(WORKERS[0])
        for word, error in (
            ("nodes", WaitTimeout("the control plane did not answer")),
            ("member", EtcdUnreadable("etcd's member list cannot be read")),
        ):
            services = self.services(silent(word, error))
            with self.assertRaisesRegex(MgmtDriverError, '"cluster unreachable".* (did|cannot) '):
                self.heal_start(self.automatic(WORKERS[0]), services)

    def test_another_operation(self) -> None:
        def locked(session: Any, argv: Any) -> None:
            if session.machine.address == WORKERS[1] and any("hold-lock" in w for w in argv):
                raise Locked("upgrade of VNF vnf-1 works on this machine")

        self.kill(WORKERS[0])
        with self.assertRaisesRegex(MgmtDriverError, '"another operation".*upgrade of VNF') as c:
            self.heal_start(self.automatic(WORKERS[0]), self.services(locked))
        self.assertIn("nothing was changed", str(c.exception))

    def test_an_upgrade_that_is_half_done(self) -> None:
        self.kill(WORKERS[0])
        name = self.machine(WORKERS[1]).name
        self.world.nodes[name]["metadata"]["annotations"] = dict(_CORDONED)
        self.refused("half-done operation", f"an upgrade has cordoned {name}", WORKERS[0])
        self.world.nodes[name]["metadata"]["annotations"] = {}
        self.machine(WORKERS[1]).running = "v1.19.16"
        self.refused("half-done operation", "the cluster has v1.19.16, v1.20.2", WORKERS[0])

    def test_an_upgrade_that_tacker_does_not_know_of(self) -> None:
        """The upgrade has passed all nodes, and failed then."""
        self.kill(WORKERS[0])
        self.world.have("v1.22.1")
        self.refused("half-done operation", "v1.22.1, .*names no upgrade: send a", WORKERS[0])

    def test_a_restore_that_is_half_done(self) -> None:
        self.kill(WORKERS[0])
        self.machine(MASTERS[1]).files[f"{STATE_FOLDER}/restoring"] = (b"", "600")
        self.refused("half-done operation", "a restore has not ended: .*10.10.0.11", WORKERS[0])

    def test_nobody_replaces_the_whole_vnf(self) -> None:
        self.refused("no VNFC", "names no VNFC")

    def test_a_typed_heal_passes_the_rails(self) -> None:
        self.kill(*WORKERS, STORAGE)
        self.heal_start(self.request(*self.ids(WORKERS[0])), self.services())
        self.assertFalse(heal_history.has_passed(self.store))
        self.replaced(self.machine(WORKERS[0]).node)
        self.heal_end(self.request(*self.ids(WORKERS[0])), self.services())
        self.assertEqual({}, heal_history.load(self.store, 0.0))

    def test_a_retry_goes_on(self) -> None:
        """The new machine has joined before the operation failed."""
        self.kill(WORKERS[0])
        self.heal_start(self.automatic(WORKERS[0]), self.services())
        new = self.arrive_in_place(WORKERS[0])
        self.heal_start(self.automatic(WORKERS[0]), self.services())
        self.assertNotIn(new, self.world.nodes)

    def arrive_in_place(self, address: str) -> str:
        target = self.machine(address).node
        del self.world.machines[target.server_id]
        new = dataclasses.replace(target, server_id="f" + target.server_id[1:])
        return self.arrive(new, is_member=True).name


class AutomaticHooksTest(HookCaller):
    """The hooks, called as Tacker calls them for an alert."""

    def heal(self, address: str) -> None:
        target = self.machine(address)
        target.alive = False
        asked = {"vnfcInstanceId": [f"info-resource-{target.node.server_id}"]}
        self.call(kubernetes_v2.heal_start, asked, _AUTOMATIC)
        self.replaced(target.node)
        self.call(kubernetes_v2.heal_end, asked, _AUTOMATIC)
        self.memory = {}  # of the operation, which has ended

    def test_the_count_follows_a_machine_through_its_replacements(self) -> None:
        """The ids of VNFCs and servers change with each heal."""
        for _ in range(3):
            self.heal(WORKERS[0])
        self.assert_whole(3, 2)
        with self.assertRaisesRegex(MgmtDriverError, '"times an hour"'):
            self.heal(WORKERS[0])

    def heal_again(self, target: Machine, *others: Machine) -> None:
        """Heat has replaced the target, which has joined, and Tacker knows nothing of that."""
        told, server = self.vnfcs(), target.node.server_id
        new = self.arrive(self.replaced(target.node), is_member=True)
        (resource,) = (r for r in told["vnfcResourceInfo"] if r["id"] == f"resource-{server}")
        resource["metadata"]["stack_id"] = f"name/{new.node.server_id}"
        asked = [f"info-resource-{machine.node.server_id}" for machine in (target, *others)]
        with mock.patch.object(self, "vnfcs", return_value=told):
            self.call(kubernetes_v2.heal_start, {"vnfcInstanceId": asked}, _AUTOMATIC)
        self.assertNotIn(new.name, self.world.nodes)

    def test_a_retry_after_the_conductor_has_died(self) -> None:
        """No rail holds it: not even one that holds only now."""
        for address in (WORKERS[0], MASTERS[0], STORAGE):
            self.build()
            target, before = self.machine(address), self.metadata_of_instance
            target.alive = False
            asked = {"vnfcInstanceId": [f"info-resource-{target.node.server_id}"]}
            self.call(kubernetes_v2.heal_start, asked, _AUTOMATIC)
            self.memory, self.metadata_of_instance = {}, before
            for other in (*WORKERS, STORAGE):
                self.machine(other).alive = False
            self.heal_again(target)

    def test_a_replacement_that_is_not_finished_is_not_well(self) -> None:
        for address in (WORKERS[0], MASTERS[0]):
            self.build()
            dead = self.machine(WORKERS[1])
            dead.alive = False
            self.heal_again(self.machine(address), dead)

    def test_a_typed_heal_of_a_machine_that_is_well(self) -> None:
        target = self.machine(WORKERS[0])
        asked = {"vnfcInstanceId": [f"info-resource-{target.node.server_id}"]}
        with self.assertRaisesRegex(MgmtDriverError, '"machine is well"'):
            self.call(kubernetes_v2.heal_start, asked, _AUTOMATIC)
        for grant in (None, {"isAutomaticInvocation": False}):
            self.call(kubernetes_v2.heal_start, asked, grant)
        self.assertNotIn(target.name, self.world.nodes)


if __name__ == "__main__":
    unittest.main()
