"""Scaling of the control plane of a simulated cluster, with faults at every command."""

import copy
import logging
import re
import time
from collections.abc import Sequence
from dataclasses import replace

import yaml

from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.inventory import Contents, Placement
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.operations import scale_in, scale_out
from mgmt_drivers.testing.fakes import named
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    PARAMS,
    STORAGE,
    WORKERS,
    SimulatedClusterTest,
    new_node,
)
from mgmt_drivers.testing.simulated_world import KEEPALIVED
from mgmt_drivers.testing.simulation import SimulatedSession
from mgmt_drivers.tests.test_faults import FaultsTestCase, Injector

# Addresses of which the others are parts.
_NEW = ("10.10.0.12", "10.10.0.121")
_FIRST = MASTERS[:2]  # those that the v1 API takes away
_SNAPSHOT = f"{STATE_FOLDER}/etcd-snapshot.db"


class MastersTestCase(FaultsTestCase):
    """Scales the control plane from 3 to 5 and back."""

    def arrive_masters(self, *addresses: str, is_member: bool = False) -> None:
        for number, address in enumerate(addresses, start=100):
            self.arrive(new_node("master", number, address), is_member)

    def scale_out(self, services: Services, *addresses: str) -> None:
        scale_out.scale_out(self.request(*self.ids(*(addresses or _NEW))), services, self.vims)

    def scale_in(self, services: Services, *addresses: str) -> None:
        scale_in.scale_in(self.request(*self.ids(*(addresses or _FIRST))), services, self.vims)

    def delete(self, *addresses: str) -> None:
        """As Heat does."""
        for address in addresses:
            del self.world.machines[self.machine(address).node.server_id]

    def assert_gone(self, *addresses: str, is_struck: bool = False) -> None:
        """Nothing of them is left in the cluster, nor on those that stay; then Heat comes.

        Machines that leave are not waited for, where a fault struck.
        """
        names = {self.machine(address).name for address in addresses}
        self.assertFalse(names & set(self.world.nodes))
        self.assertFalse(names & {member["name"] for member in self.world.members})
        for address in addresses:
            released = "keepalived" not in self.machine(address).services
            self.assertTrue(released or is_struck)
        self.delete(*addresses)
        masters = [m for m in self.world.machines.values() if m.role == "master"]
        if any(machine.backends for machine in masters):
            self.assert_balanced()


class HostsTest(MastersTestCase):
    """Nova places the control-plane nodes; two may share a compute host."""

    def setUp(self) -> None:
        super().setUp()
        logging.disable(logging.NOTSET)
        hints = {"scheduler_hints": {"group": {"get_resource": "group"}}}
        server = {"type": "OS::Nova::Server", "properties": hints}
        path = self.package / "BaseHOT/complex/masters.yaml"
        path.write_text(yaml.safe_dump({"resources": {"masterNode": server}}))
        self.hosts: dict[str, str] = {}

    def contents(self, stack_id: str) -> Contents:
        found = super().contents(stack_id)
        host = self.hosts.get(stack_id, stack_id)
        return replace(found, placements={stack_id: Placement("", "nova", host)})

    def test_each_operation_tells_which_share_a_host(self) -> None:
        self.build()
        self.arrive_masters(*_NEW)
        with self.assertNoLogs("mgmt_drivers.operations.opening", "WARNING"):
            self.scale_out(self.services())
        shared = [self.machine(address) for address in (MASTERS[0], _NEW[1])]
        self.hosts = {machine.node.server_id: "one" for machine in shared}
        with self.assertLogs("mgmt_drivers.operations.opening", "WARNING") as log:
            self.scale_in(self.services())
        names = ", ".join(machine.name for machine in shared)
        self.assertIn(f"share a compute host: {names}. ", log.output[0])


class FaultsTest(MastersTestCase):
    """Every remote command fails once; trying again ends right."""

    def test_scale_out(self) -> None:
        def story(number: int, fault: str) -> bool:
            self.arrive_masters(*_NEW)
            struck = self.cured(self.scale_out, number, fault)
            self.assert_whole(5, 2)
            self.assert_balanced()
            return struck

        self.assertGreater(self.all_faults(story), 300)

    def test_a_scale_out_that_failed_leaves_nothing(self) -> None:
        """Where the machines live, and what takes it back is not struck, too."""
        number, struck = 1, True
        while struck:
            self.build()
            self.arrive_masters(*_NEW)
            injector = Injector(number, "fails")
            with self.subTest(command=number):
                try:
                    self.scale_out(self.services(injector.before, injector.after))
                except MgmtDriverError:
                    self.assert_gone(*_NEW, is_struck=True)
                    self.assert_whole(3, 2)
            number, struck = number + 1, injector.struck
        self.assertGreater(number, 150)

    def test_scale_in(self) -> None:
        def story(number: int, fault: str) -> bool:
            self.arrive_masters(*_NEW, is_member=True)
            self.world.leader = self.machine(MASTERS[0]).name
            struck = self.cured(self.scale_in, number, fault)
            self.assert_gone(*_FIRST, is_struck=struck)
            self.assert_whole(3, 2)
            return struck

        self.assertGreater(self.all_faults(story), 150)

    def test_roll_back(self) -> None:
        """The process died; now Heat takes the machines away."""

        def story(number: int, fault: str) -> bool:
            self.arrive_masters(*_NEW, is_member=True)
            self.delete(*_NEW)
            request = self.request()
            struck = self.cured(
                lambda s: scale_out.begin_roll_back(request, s, ["masterNode"]), number, fault
            )
            self.assert_whole(3, 2)
            return struck

        self.assertGreater(self.all_faults(story), 60)


class MastersTest(MastersTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.build()

    def refused(self, words: str, *addresses: str) -> None:
        """To scale these in is refused and changes nothing."""
        before = copy.deepcopy((self.world.nodes, self.world.members))
        files = {m.name: dict(m.files) for m in self.world.machines.values()}
        with self.assertRaisesRegex(MgmtDriverError, words):
            self.scale_in(self.services(), *addresses)
        self.assertEqual(before, (self.world.nodes, self.world.members))
        self.assertEqual(files, {m.name: m.files for m in self.world.machines.values()})

    def test_there_and_back_with_the_leader_among_those_who_leave(self) -> None:
        self.arrive_masters(*_NEW)
        self.scale_out(self.services())
        self.assert_whole(5, 2)
        self.assert_balanced()
        configs = [self.machine(a).files[KEEPALIVED][0].decode() for a in (*MASTERS, *_NEW)]
        ranks = {re.findall(r"^ +priority (\d+)$", text, re.MULTILINE)[0] for text in configs}
        self.assertEqual(5, len(ranks))
        # The leadership must not move to the other that leaves.
        self.world.leader = self.machine(MASTERS[0]).name
        drained = [self.machine(address).name for address in _FIRST]
        self.scale_in(self.services())
        self.assertEqual(0, self.world.beheaded)
        self.assertEqual(drained, self.world.drained)
        self.assertEqual(sorted(drained), sorted(self.world.reset))
        self.assertIn(_SNAPSHOT, self.machine(MASTERS[2]).files)
        self.assert_gone(*_FIRST)
        self.assert_whole(3, 2)

    def test_those_that_leave_serve_no_more_when_their_members_go(self) -> None:
        self.arrive_masters(*_NEW)
        self.scale_out(self.services())
        names = {self.machine(address).name for address in _FIRST}
        seen = []

        def watch(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "remove" in argv:
                seen.append(argv)
                staying = [self.machine(address) for address in (MASTERS[2], *_NEW)]
                self.assertFalse(any(names & set(machine.backends) for machine in staying))
                holders = [self.machine(a) for a in _FIRST]
                self.assertFalse(any("keepalived" in m.services for m in holders))

        self.scale_in(self.services(watch))
        self.assertEqual(2, len(seen))
        self.assert_gone(*_FIRST)

    def test_a_new_master_serves_when_it_is_verified(self) -> None:
        self.arrive_masters(*_NEW)
        seen = []

        def watch(session: SimulatedSession, argv: Sequence[str]) -> None:
            if f"https://{_NEW[1]}:6443" in argv:
                seen.append(argv)
                self.assertEqual([], self.machine(MASTERS[0]).backends)

        self.scale_out(self.services(watch))
        self.assertTrue(seen)
        self.assert_balanced()

    def test_the_holder_of_the_virtual_ip_knows_who_starts_keepalived(self) -> None:
        """Who hears nothing of the holder takes the virtual IP, too."""
        self.arrive_masters(*_NEW)
        seen = []

        def watch(session: SimulatedSession, argv: Sequence[str]) -> None:
            new = session.machine.address
            if new in MASTERS and KEEPALIVED in argv:
                time.sleep(0.05)  # they are the slower ones
            if new in _NEW and named(argv)[:2] == ("apply-unit", "keepalived"):
                seen.append(new)
                peers = [self.machine(address).peers for address in MASTERS]
                self.assertTrue(all(new in known for known in peers), peers)

        self.scale_out(self.services(watch))
        self.assertEqual({*_NEW}, {*seen})

    def test_the_number_is_odd(self) -> None:
        self.arrive_masters(_NEW[0])
        words = (
            "from 3 to 4 control-plane nodes is refused: .* 4 members of etcd survive the loss "
            "of 1, and so do 3. Ask for 3 or 5"
        )
        with self.assertRaisesRegex(MgmtDriverError, words):
            self.scale_out(self.services(), _NEW[0])
        self.assertEqual(0, self.connections.total())
        self.arrive_masters(*_NEW, is_member=True)
        self.refused("from 5 to 4 control-plane nodes is refused.*Ask for 3 or 5", MASTERS[0])
        self.refused("from 5 to 2 .*there must be at least 3", *MASTERS)

    def test_the_number_is_checked_before_heat_is_asked(self) -> None:
        services = self.services()
        for coming, is_fine in ((2, True), (4, True), (1, False), (3, False)):
            request = self.request()
            vdus = {"masterNode": coming, "workerNode": 1}
            if is_fine:
                scale_out.check_scale_out(request, services, vdus)
                continue
            with self.assertRaisesRegex(MgmtDriverError, f"from 3 to {3 + coming} control-plane"):
                scale_out.check_scale_out(request, services, vdus)
        scale_out.check_scale_out(self.request(), services, {"workerNode": 1})
        self.assertEqual(0, self.connections.total())

    def test_a_storage_server_is_not_scaled(self) -> None:
        storage = next(m for m in self.world.machines.values() if m.role == "storage")
        self.refused("only workers can be scaled, and control-plane nodes", storage.address)

    def test_who_stays_must_be_healthy(self) -> None:
        self.arrive_masters(*_NEW, is_member=True)
        self.deaf.add(_NEW[0])
        self.refused("10.10.0.12.*: no answer")
        self.deaf.clear()
        name = self.machine(_NEW[1]).name
        self.world.members = [m for m in self.world.members if m["name"] != name]
        self.refused(f"cannot be scaled now: etcd has no healthy voter on {name} .no member.. Heal")

    def test_who_leaves_need_not(self) -> None:
        self.arrive_masters(*_NEW, is_member=True)
        self.machine(MASTERS[0]).alive = False
        self.scale_in(self.services())
        self.machine(MASTERS[0]).services.discard("keepalived")
        self.assert_gone(*_FIRST)
        self.assert_whole(3, 2)

    def test_no_quorum_no_scale_in(self) -> None:
        self.arrive_masters(*_NEW, is_member=True)
        for address in (MASTERS[0], MASTERS[1], MASTERS[2]):
            self.machine(address).alive = False
        self.refused("10.10.0.111.*no answer")

    def test_a_member_that_is_unhealthy_lets_nobody_join(self) -> None:
        self.arrive_masters(*_NEW)
        name = self.machine(MASTERS[1]).name
        self.world.members = [m for m in self.world.members if m["name"] != name]
        words = f"cannot be scaled now: etcd has no healthy voter on {name}"
        with self.assertRaisesRegex(MgmtDriverError, words):
            self.scale_out(self.services())
        self.assertEqual(set(), self.machine(_NEW[0]).packages)

    def test_what_an_attempt_has_left_goes_first(self) -> None:
        """Through v1 Tacker rolls back without a word to the driver, which could not undo it."""
        self.arrive_masters(*_NEW, is_member=True)
        self.delete(*_NEW)
        self.assertEqual(5, len(self.world.members))
        again = ("10.10.0.13", _NEW[0])  # an address that is new, and one that was an orphan's
        self.arrive_masters(*again)
        for address in again:  # other machines
            self.replaced(self.machine(address).node)
        self.scale_out(self.services(), *again)
        names = {m.name for m in self.world.machines.values() if m.role == "master"}
        self.assertEqual(names, {m["name"] for m in self.world.members})

    def test_a_member_that_others_have_added_stays(self) -> None:
        self.arrive_masters(*_NEW, is_member=True)
        for member in self.world.members[3:]:
            member["name"] = f"by-hand-{member['ID']}"
        self.delete(*_NEW)
        members = list(self.world.members)
        scale_out.begin_roll_back(self.request(), self.services(), ["masterNode"])
        self.assertEqual(members, self.world.members)

    def test_a_heal_tells_whose_members_are_in_the_way(self) -> None:
        self.arrive_masters(*_NEW, is_member=True)
        names = [self.machine(address).name for address in _NEW]
        self.delete(*_NEW)
        self.machine(MASTERS[1]).alive = False
        told = f"The VNF does not have the machines of {names[0]} .*{names[1]} .* any more. If"
        with self.assertRaisesRegex(MgmtDriverError, told):
            self.heal_start(self.request(*self.ids(MASTERS[0])), self.services())

    def test_a_disk_without_space_for_a_snapshot(self) -> None:
        for address in MASTERS:
            self.machine(address).free = 15
        with self.assertRaisesRegex(MgmtDriverError, "too little space left for a snapshot"):
            self.heal_start(self.request(*self.ids(MASTERS[0])), self.services())
        self.assertEqual(3, len(self.world.members))

    def test_a_storage_server_whose_heal_was_killed(self) -> None:
        """Its own heal mounts its volumes and serves the nodes; another heal does not wait."""
        exports = [{"export_dir": "/volume/nfs"}]
        server = {**PARAMS["storage_server"], "nfs_server_setup_params": exports}
        self.params = {**PARAMS, "storage_server": server}
        storage, master = self.machine(STORAGE).node, self.machine(MASTERS[0]).node
        self.heal_start(self.request(storage.vnfc_id), self.services())
        self.replaced(storage)
        self.heal_start(self.request(master.vnfc_id), self.services())
        self.replaced(master)
        self.heal_end(self.request(master.vnfc_id), self.services())
        self.heal_end(self.request(storage.vnfc_id), self.services())
        self.assert_whole(3, 2)

    def test_a_roll_back_mends_the_load_balancers(self) -> None:
        self.arrive_masters(*_NEW)
        self.scale_out(self.services())
        self.delete(*_NEW)
        scale_out.begin_roll_back(self.request(), self.services(), ["masterNode"])
        self.assert_whole(3, 2)
        self.assert_balanced()

    def test_a_roll_back_of_workers_is_none_of_etcds_business(self) -> None:
        self.arrive_masters(*_NEW, is_member=True)
        self.delete(*_NEW)
        scale_out.begin_roll_back(self.request(), self.services(), ["workerNode"])
        self.assertEqual(0, self.connections.total())
        scale_out.roll_back_scale_out(self.request(), self.services(), ["workerNode"])
        self.assertEqual((5, 7), (len(self.world.members), len(self.world.nodes)))

    def test_scale_in_goes_on_where_heat_has_deleted_a_machine(self) -> None:
        self.arrive_masters(*_NEW, is_member=True)
        request = self.request(*self.ids(*_FIRST))
        scale_in.scale_in(request, self.services(), self.vims)
        self.delete(MASTERS[0])
        scale_in.scale_in(request, self.services(), self.vims)
        self.assert_gone(MASTERS[1])
        self.connections.clear()
        scale_in.scale_in(request, self.services(), self.vims)
        self.assertEqual(0, self.connections.total())

    def test_few_connections(self) -> None:
        self.arrive_masters(*_NEW)
        self.scale_out(self.services())
        self.assertEqual(({1}, 5), (set(self.connections.values()), self.connections.total()))
        self.connections.clear()
        self.scale_in(self.services())
        self.assertEqual(({1}, 5), (set(self.connections.values()), self.connections.total()))

    def test_a_machine_that_was_given_up_joins_again(self) -> None:
        """Heat could not delete it, and the operation was given up."""
        self.arrive_masters(*_NEW, is_member=True)
        self.scale_in(self.services())
        self.assertEqual([], self.machine(MASTERS[0]).markers)
        self.scale_out(self.services(), *_FIRST)
        self.assert_whole(5, 2)
        self.assert_balanced()

    def test_workers_beside_masters(self) -> None:
        """An aspect of a package may have both VDUs."""
        self.arrive_masters(*_NEW)
        self.arrive(new_node("worker", 50, "10.10.0.50"))
        self.scale_out(self.services(), *_NEW, "10.10.0.50")
        self.assert_whole(5, 3)
        self.scale_in(self.services(), *_NEW, WORKERS[0])
        self.delete(WORKERS[0])
        self.assert_gone(*_NEW)
        self.assert_whole(3, 2)


class SimpleTest(SimulatedClusterTest):
    """One control-plane node, and no virtual IP."""

    def test_masters_are_not_scaled(self) -> None:
        self.build()
        for address in MASTERS[1:]:
            del self.world.machines[self.machine(address).node.server_id]
        own = self.params["master_node"]
        self.params = {**self.params, "master_node": {**own, "cluster_cp_name": own["nic_cp_name"]}}
        with self.assertRaisesRegex(MgmtDriverError, "only workers can be scaled"):
            scale_in.scale_in(self.request(*self.ids(MASTERS[0])), self.services(), self.vims)
        self.assertEqual(0, self.connections.total())
