"""Alarms of etcd, and its upkeep, on a simulated cluster."""

import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

from mgmt_drivers.cluster.etcd import etcd, upkeep
from mgmt_drivers.cluster.etcd.etcd import Database, EtcdStatus
from mgmt_drivers.cluster.packages.runtime import Containerd
from mgmt_drivers.errors import CommandTimeout, MgmtDriverError, ParameterError
from mgmt_drivers.machine.host import Host
from mgmt_drivers.operations import modify, scale_out
from mgmt_drivers.testing.fakes import named
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    PARAMS,
    WORKERS,
    SimulatedClusterTest,
    new_node,
    no_fault,
)
from mgmt_drivers.testing.simulation import SimulatedSession
from mgmt_drivers.tests.test_faults import FaultsTestCase
from mgmt_drivers.tests.test_masters import MastersTestCase
from mgmt_drivers.tests.test_upgrade import UpgradableClusterTest

_MIB, _GIB = 1 << 20, 1 << 30
_CURE = "Send a modification with `defragment_etcd`, then repeat the operation"
_WHOLE = "heal the whole VNF"
DEFRAGMENT, _NEXT = {"defragment_etcd": True}, {"kubernetes_version": "1.37"}


class Here:
    """The part of a cluster that etcd is asked through."""

    runtime = Containerd()

    def __init__(self, name: str) -> None:
        self._name = name

    def name(self, host: Host) -> str:
        return self._name


class AlarmedClusterTest(SimulatedClusterTest):
    def arm(self, kind: str, number: int = 1) -> None:
        self.world.databases.alarms.append((number, kind))

    def fill(self, history: int = _GIB) -> None:
        """No member has space for another write."""
        databases = self.world.databases
        databases.history = history
        databases.sizes = {m["name"]: databases.quota for m in self.world.members}
        self.arm("NOSPACE", 2)

    def host(self) -> Host:
        machine = self.machine(MASTERS[0])
        return Host(machine.node, SimulatedSession(self.world, machine, no_fault, no_fault))

    def status(self) -> EtcdStatus:
        return etcd.read_status(self.host(), Here(self.machine(MASTERS[0]).name))

    def error_of(self, work: Callable[[], None]) -> str:
        with self.assertRaises(MgmtDriverError) as caught:
            work()
        return str(caught.exception)

    def names(self, *addresses: str) -> list[str]:
        return [self.machine(address).name for address in addresses]

    def defragment(self, *faults: Any) -> None:
        modify.modify(self.request(), self.services(*faults), self.vims, DEFRAGMENT)

    def sizes(self) -> set[int]:
        databases = self.world.databases
        return {databases.size(member["name"]) for member in self.world.members}


class AlarmTest(AlarmedClusterTest, MastersTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.params = {**PARAMS, "kubernetes_version": "1.36.4"}
        self.build()
        self.world.have("v1.36.4")

    def heal(self) -> None:
        request = self.request(self.machine(MASTERS[1]).node.vnfc_id)
        self.heal_start(request, self.services())

    def test_an_alarm_makes_no_member_unhealthy(self) -> None:
        self.arm("NOSPACE")
        self.arm("CORRUPT", 0)
        found = self.status()
        self.assertEqual({m["ID"] for m in self.world.members}, found.healthy)
        self.assertEqual({("NOSPACE", 1), ("CORRUPT", 0)}, found.alarms)
        self.assertIn("CORRUPT of the member with the id 0: ", found.describe_alarms())

    def test_a_heal_names_the_alarm_and_its_cure(self) -> None:
        self.arm("NOSPACE")
        error = self.error_of(self.heal)
        name, _ = self.names(*MASTERS[:2])
        self.assertIn(f"nothing was changed: etcd has the alarm NOSPACE of {name} ", error)
        self.assertIn(_CURE, error)
        self.assertNotIn(_WHOLE, error)
        self.assertEqual(3, len(self.world.members))

    def test_a_heal_names_the_member_that_is_corrupt(self) -> None:
        self.arm("CORRUPT", 3)
        error = self.error_of(self.heal)
        self.assertIn(f"the alarm CORRUPT of {self.machine(MASTERS[2]).name} ", error)
        self.assertIn("heal its control-plane node", error)
        self.assertNotIn(_WHOLE, error)

    def test_scaling_of_control_plane_nodes(self) -> None:
        self.arrive_masters("10.10.0.12", "10.10.0.121")
        self.arm("NOSPACE")
        error = self.error_of(lambda: self.scale_out(self.services()))
        self.assertIn("cannot be scaled now: etcd has the alarm NOSPACE", error)
        self.assertIn(_CURE, error)

    def test_a_snapshot_is_saved_all_the_same(self) -> None:
        self.arrive_masters("10.10.0.12", is_member=True)
        self.delete("10.10.0.12")
        self.arm("NOSPACE")
        logging.disable(logging.NOTSET)
        with self.assertLogs("mgmt_drivers.cluster.etcd", "WARNING") as logs:
            scale_out.begin_roll_back(self.request(), self.services(), ["masterNode"])
        self.assertIn("saved all the same: etcd has the alarm NOSPACE", "\n".join(logs.output))
        self.assertEqual(3, len(self.world.members))

    def test_no_apiserver_is_ready(self) -> None:
        """Under CORRUPT etcd answers none of them."""
        self.arm("CORRUPT", 2)
        request = self.request(*self.ids(WORKERS[0]))
        for work in (
            lambda: self.heal_start(request, self.services()),
            lambda: self.scale_in(self.services(), WORKERS[0]),
            lambda: modify.modify(self.request(), self.services(), self.vims, _NEXT),
        ):
            error = self.error_of(work)
            self.assertIn("the node's apiserver is not ready: ", error)
            self.assertIn(f"the alarm CORRUPT of {self.machine(MASTERS[1]).name} ", error)

    def test_a_worker_that_cannot_join(self) -> None:
        """kubeadm would try to create a token until its time is over."""
        worker = self.arrive(new_node("worker", 20, "10.10.0.20"))
        self.arm("NOSPACE")
        request = self.request(worker.node.vnfc_id)
        error = self.error_of(lambda: scale_out.scale_out(request, self.services(), self.vims))
        self.assertIn("the VNF cannot be scaled now: etcd has the alarm NOSPACE", error)
        self.assertIn(_CURE, error)
        self.assertEqual(set(), worker.packages)


class UpkeepTest(AlarmedClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.build()

    def noted(self) -> tuple[list[str], Callable[[SimulatedSession, Sequence[str]], None]]:
        """A list of what changes etcd, in its order, and what notes it."""
        noted: list[str] = []

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            for word in ("compaction", "defrag", "disarm"):
                noted.extend([f"{word} {session.machine.name}"] if word in named(argv) else [])

        return noted, note

    def test_etcd_without_space(self) -> None:
        first, second, third = self.names(*MASTERS)
        self.world.leader = second
        self.fill()
        noted, note = self.noted()
        self.defragment(note)
        self.assertEqual(
            [f"compaction {first}", f"defrag {first}", f"defrag {third}", f"defrag {second}",
             f"disarm {first}"],
            noted,
        )
        self.assertEqual(({8 * _MIB}, []), (self.sizes(), self.world.databases.alarms))

    def test_holes_alone(self) -> None:
        """kube-apiserver compacts; an alarm there is none."""
        self.world.databases.sizes = {self.names(MASTERS[1])[0]: 9 * _MIB}
        noted, note = self.noted()
        self.defragment(note)
        self.assertEqual([f"defrag {name}" for name in self.names(MASTERS[1])], noted)
        self.defragment(note)
        self.assertEqual(1, len(noted))

    def test_more_data_than_the_quota(self) -> None:
        self.world.databases.live = 2 * _GIB
        self.arm("NOSPACE")
        error = self.error_of(self.defragment)
        self.assertRegex(error, "has still 2048 MiB, and its quota is 2048 MiB: .*NOSPACE would")
        self.assertIn("Delete objects that nobody needs, or raise `--quota-backend-bytes`", error)
        self.assertTrue(self.world.databases.alarms)
        for name in self.names(*MASTERS):
            machine = next(m for m in self.world.machines.values() if m.name == name)
            text = b"    - --quota-backend-bytes=8589934592\n"
            machine.files["/etc/kubernetes/manifests/etcd.yaml"] = (text, "600")
        self.world.databases.quota = 8 * _GIB
        self.defragment()
        self.assertEqual([], self.world.databases.alarms)

    def test_a_dead_member_keeps_nobody_from_it(self) -> None:
        """A heal needs space first."""
        self.fill()
        self.machine(MASTERS[2]).alive = False
        self.world.databases.sizes.pop(self.names(MASTERS[2])[0])
        self.defragment()
        self.assertEqual(self.names(*MASTERS[:2]), sorted(self.world.defragmented))
        self.assertEqual([], self.world.databases.alarms)

    def test_an_alarm_for_which_this_is_no_cure(self) -> None:
        self.fill()
        self.arm("CORRUPT", 2)
        error = self.error_of(self.defragment)
        self.assertIn("etcd cannot be defragmented now: etcd has the alarm CORRUPT", error)
        self.assertEqual(2, len(self.world.databases.alarms))

    def test_a_disk_without_room(self) -> None:
        self.fill()
        self.machine(MASTERS[0]).free = 8
        self.assertIn("8 MiB free, and a defragmentation needs 9", self.error_of(self.defragment))

    def test_a_member_that_does_not_come_back(self) -> None:
        def lose(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "defrag" in argv:
                name = session.machine.name
                self.world.members = [m for m in self.world.members if m["name"] != name]

        self.fill()
        error = self.error_of(lambda: self.defragment(no_fault, lose))
        self.assertRegex(error, "a healthy member of etcd after its .*last seen: no member")

    def test_the_quota(self) -> None:
        host, told = self.host(), Database(1, 1, 0)
        self.assertEqual(2 * _GIB, upkeep.read_quota(host, told))
        self.assertEqual(_GIB, upkeep.read_quota(host, Database(1, 1, _GIB)))
        for given, quota in (("4294967296", 4 * _GIB), ("0", 2 * _GIB)):
            text = f"    - --quota-backend-bytes={given}\n".encode()
            self.machine(MASTERS[0]).files["/etc/kubernetes/manifests/etcd.yaml"] = (text, "600")
            self.assertEqual(quota, upkeep.read_quota(host, told))

    def test_the_parameter(self) -> None:
        for wanted, words in (
            ({"defragment_etcd": 1}, "defragment_etcd: must be true or false"),
            ({"defragment_etcd": False}, "changes nothing: name renew_certificates, defragm"),
            ({**DEFRAGMENT, "kubernetes_version": "1.37"}, "version: cannot be combined with d"),
            ({**DEFRAGMENT, "renew_certificates": True}, "defragment_etcd: cannot be combined"),
        ):
            with self.subTest(wanted), self.assertRaisesRegex(ParameterError, words):
                modify.validate(self.request(), self.store, wanted)
        text = json.dumps({**DEFRAGMENT, "renew_certificates": False})
        self.assertFalse(modify.validate(self.request(), self.store, text).is_upgrade)


class UpgradeTest(AlarmedClusterTest, UpgradableClusterTest):
    """An upgrade writes much: it makes room before."""

    def setUp(self) -> None:
        super().setUp()
        self.build()

    def test_etcd_without_space(self) -> None:
        self.fill()
        self.modify()
        self.assert_upgraded()
        self.assertEqual({8 * _MIB}, self.sizes())

    def test_holes(self) -> None:
        """Holes of more than half of the database, in a database of more than half of the quota."""
        name = self.names(MASTERS[2])[0]
        for tells in (False, True):
            for live, size, wanted in (
                (8 * _MIB, _GIB, []), (8 * _MIB, _GIB + 1, [name]), (_GIB, 2 * _GIB - 1, []),
            ):
                with self.subTest(live=live, size=size):
                    self.build()
                    databases = self.world.databases
                    databases.live, databases.sizes = live, {name: size}
                    databases.tells_quota = tells
                    self.modify()
                    self.assert_upgraded()
                    self.assertEqual(wanted, self.world.defragmented)

    def test_an_alarm_that_an_upgrade_does_not_end(self) -> None:
        def arm(session: SimulatedSession, argv: Sequence[str]) -> None:
            """After the apiservers were asked, which then are silent."""
            if "member" in argv and not self.world.databases.alarms:
                self.arm("CORRUPT", 2)
            elif "kubectl" in argv:
                self.world.databases.alarms.clear()

        services = self.services(arm)
        error = self.error_of(lambda: modify.modify(self.request(), services, self.vims, _NEXT))
        self.assertIn("nothing was changed: etcd has the alarm CORRUPT", error)


class UpkeepFaultsTest(FaultsTestCase, AlarmedClusterTest):
    def test_on_request(self) -> None:
        """Every remote command fails once; trying again ends right."""

        def story(number: int, fault: str) -> bool:
            self.fill()
            request = self.request()
            struck = self.cured(
                lambda s: modify.modify(request, s, self.vims, DEFRAGMENT), number, fault
            )
            self.assertEqual([], self.world.databases.alarms)
            self.defragment()  # a member that was left out
            self.assertEqual(({8 * _MIB}, []), (self.sizes(), self.world.databases.alarms))
            return struck

        self.assertGreater(self.all_faults(story), 60)


class DiskTest(SimulatedClusterTest):
    """The disk where etcd's data will lie, measured before the machine becomes a node."""

    def setUp(self) -> None:
        super().setUp()
        self.build(is_clustered=False)
        logging.disable(logging.NOTSET)

    def test_a_slow_disk_is_told_of(self) -> None:
        self.machine(MASTERS[1]).sync_time = 14.2
        with self.assertLogs("mgmt_drivers.cluster.etcd", "WARNING") as logs:
            self.instantiate(self.services())
        self.assert_whole(3, 2)
        (warning,) = logs.output
        self.assertIn(f"{MASTERS[1]}): the disk of etcd needs 14.2 ms", warning)
        self.assertEqual({*MASTERS}, {*self.world.measured})

    def test_a_machine_is_measured_before_it_is_a_node(self) -> None:
        self.instantiate(self.services())
        self.world.measured.clear()
        self.instantiate(self.services())
        self.assertEqual([], self.world.measured)

    def test_a_disk_that_cannot_be_measured_is_no_failure(self) -> None:
        def hang(session: SimulatedSession, argv: Sequence[str]) -> None:
            if named(argv)[0] == "measure-syncs":
                raise CommandTimeout("no end")

        with self.assertLogs("mgmt_drivers.cluster.etcd", "WARNING") as logs:
            self.instantiate(self.services(hang))
        self.assert_whole(3, 2)
        self.assertIn("the disk of etcd keeps no write: [KV-TIMEOUT] no end", logs.output[0])
