"""Scaling and healing of a simulated cluster: what is done, and what is refused."""

import copy
import json
from collections.abc import Sequence
from typing import Any

from mgmt_drivers.cluster.nodes import transient
from mgmt_drivers.errors import CommandFailed, InventoryError, MgmtDriverError, WaitTimeout
from mgmt_drivers.inventory import Node
from mgmt_drivers.operations import scale_in, scale_out
from mgmt_drivers.testing.fakes import FakeClock, MemoryStore
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    PARAMS,
    STORAGE,
    WORKERS,
    SimulatedClusterTest,
    new_node,
)
from mgmt_drivers.testing.simulated_world import ETCD_DATA, KUBELET_CONF, MEMBER, Machine
from mgmt_drivers.testing.simulation import SimulatedSession


class _FullStore(MemoryStore):
    def save(self, key: str, value: Any) -> None:
        raise OSError("the database is full")


def pod(node: str, name: str, kind: str, grace: int = 30) -> dict[str, Any]:
    """A pod that has not ended when its node is drained."""
    return {
        "metadata": {"namespace": "default", "name": name, "labels": {"app": "web"},
                     "ownerReferences": [{"controller": True, "kind": kind, "name": "owner"}]},
        "spec": {"nodeName": node, "terminationGracePeriodSeconds": grace},
        "status": {"phase": "Running"},
    }


class NetworksTest(SimulatedClusterTest):
    def test_what_nodes_must_reach_lies_outside_the_clusters_networks(self) -> None:
        """A cluster that has been made is not refused."""
        for peer, words in (
            ("client 192.168.3.4", "pod_cidr: 192.168.3.4 of the conductor lies in 192.168.0.0/16"),
            ("nameserver 10.96.0.2", "cluster_cidr: 10.96.0.2 of a name server lies in 10.96.0"),
        ):
            self.build(is_clustered=False)
            self.world.peers = (peer, "nameserver fe80::1%eth0", "nameserver x")
            with self.assertRaisesRegex(MgmtDriverError, words):
                self.instantiate(self.services())
            self.assertEqual({}, self.world.nodes)
        self.build()
        self.world.peers = ("client 192.168.3.4",)
        new = self.arrive(new_node("worker", 20, "10.10.0.20"))
        scale_out.scale_out(self.request(new.node.vnfc_id), self.services(), self.vims)
        self.assert_whole(3, 3)


class MarkersTest(SimulatedClusterTest):
    """Markers on the disks: of the machine itself, of a node that its image was made from."""

    def arrive(self, node: Node, is_member: bool = False) -> Machine:
        machine = super().arrive(node, is_member)
        if not is_member and machine.role != "storage":
            for path in (f"{MEMBER}-another", KUBELET_CONF, ETCD_DATA):
                machine.files[path] = (b"", "600")
        return machine

    def test_images_that_were_made_from_a_node(self) -> None:
        self.build(is_clustered=False)
        self.instantiate(self.services())
        self.assert_whole(3, 2)
        new = self.arrive(new_node("worker", 20, "10.10.0.20"))
        scale_out.scale_out(self.request(new.node.vnfc_id), self.services(), self.vims)
        self.assert_whole(3, 3)
        for address in (MASTERS[0], WORKERS[0]):
            target = self.machine(address).node
            self.heal_start(self.request(target.vnfc_id), self.services())
            self.replaced(target)
            self.heal_end(self.request(target.vnfc_id), self.services())
        self.assert_whole(3, 3)

    def test_markers_of_earlier_drivers(self) -> None:
        """They name no machine: kubelet's certificate does."""
        self.build()
        for machine in self.world.machines.values():
            if machine.marker in machine.files:
                machine.files[MEMBER] = machine.files.pop(machine.marker)
        name = self.machine(WORKERS[0]).name
        scale_in.scale_in(self.request(*self.ids(WORKERS[0])), self.services(), self.vims)
        self.assertNotIn(name, self.world.nodes)
        self.instantiate(self.services())  # a retry joins the worker again, and nobody else
        self.assertEqual([], self.world.reset)
        self.assertEqual(5, len(self.world.nodes))
        for machine in self.world.machines.values():
            machine.certificates.clear()
        with self.assertRaisesRegex(MgmtDriverError, "does not belong to the cluster"):
            scale_in.scale_in(self.request(*self.ids(WORKERS[0])), self.services(), self.vims)


class NodesTest(SimulatedClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.build()

    def test_a_scale_out_is_undone_after_any_error(self) -> None:
        """Tacker's database fails when all machines have joined: no error of the drivers."""
        new = self.arrive(new_node("worker", 20, "10.10.0.20"))
        self.store = _FullStore()
        with self.assertRaisesRegex(OSError, "the database is full"):
            scale_out.scale_out(self.request(new.node.vnfc_id), self.services(), self.vims)
        self.assertNotIn(new.name, self.world.nodes)

    def start_heal(self, *addresses: str) -> None:
        self.heal_start(self.request(*self.ids(*addresses)), self.services())

    def refused(self, words: str, *addresses: str) -> None:
        """Healing these is refused and changes nothing."""
        before = copy.deepcopy((self.world.nodes, self.world.members))
        files = {m.name: dict(m.files) for m in self.world.machines.values()}
        with self.assertRaisesRegex(MgmtDriverError, words):
            self.start_heal(*addresses)
        self.assertEqual(before, (self.world.nodes, self.world.members))
        self.assertEqual(files, {m.name: m.files for m in self.world.machines.values()})

    def test_scale_in_removes_what_goes(self) -> None:
        name = self.machine(WORKERS[0]).name
        request = self.request(*self.ids(WORKERS[0]))
        scale_in.scale_in(request, self.services(), self.vims)
        self.assertNotIn(name, self.world.nodes)
        self.assertEqual(4, len(self.world.nodes))
        self.assertEqual([name], self.world.drained)
        self.assertEqual(3, self.connections.total())

    def test_scale_in_goes_on_where_heat_has_deleted_a_machine(self) -> None:
        """Tacker knows both VNFCs until the operation has come to a good end."""
        request = self.request(*self.ids(*WORKERS))
        name = self.machine(WORKERS[1]).name
        del self.world.nodes[self.machine(WORKERS[0]).name]
        del self.world.machines[self.machine(WORKERS[0]).node.server_id]
        scale_in.scale_in(request, self.services(), self.vims)
        self.assertNotIn(name, self.world.nodes)
        self.assertEqual([name], self.world.drained)
        del self.world.machines[self.machine(WORKERS[1]).node.server_id]
        self.connections.clear()
        scale_in.scale_in(request, self.services(), self.vims)
        self.assertEqual(0, self.connections.total())

    def test_what_a_broken_attempt_cordoned_is_uncordoned(self) -> None:
        ours, others = (self.machine(address).name for address in WORKERS)
        for name in (ours, others):
            self.world.nodes[name]["spec"]["unschedulable"] = True
        annotation = {"tacker-mgmt-drivers/cordoned": "true"}
        self.world.nodes[ours]["metadata"]["annotations"] = annotation
        self.world.budget = "Cannot evict pod"
        with self.assertRaisesRegex(MgmtDriverError, "See why its pods do not end"):
            scale_in.scale_in(self.request(*self.ids(*WORKERS)), self.services(), self.vims)
        cordoned = [n for n in self.world.nodes.values() if n["spec"].get("unschedulable")]
        self.assertEqual([others], [node["metadata"]["name"] for node in cordoned])

    def test_a_retry_uncordons_what_leaves_no_more(self) -> None:
        """The conductor died after it had cordoned; the retry, or a heal, is about another node."""
        ours, others = (self.world.nodes[self.machine(worker).name] for worker in WORKERS)
        third = new_node("worker", 20, "10.10.0.20")
        self.arrive(third, is_member=True)
        for node in (ours, others):
            node["spec"]["unschedulable"] = True
        ours["metadata"]["annotations"] = {"tacker-mgmt-drivers/cordoned": "true"}
        scale_in.scale_in(self.request(third.vnfc_id), self.services(), self.vims)
        self.assertFalse(ours["spec"].get("unschedulable"))
        self.assertEqual({}, ours["metadata"]["annotations"])
        self.assertTrue(others["spec"].get("unschedulable"))

    def test_what_a_failed_upgrade_cordoned_stays_cordoned(self) -> None:
        """Its retry knows by it the nodes that are not done."""
        node = self.world.nodes[self.machine(WORKERS[0]).name]
        node["spec"]["unschedulable"] = True
        node["metadata"]["annotations"] = {"tacker-mgmt-drivers/cordoned": "upgrade"}
        before = copy.deepcopy(node)
        scale_in.scale_in(self.request(*self.ids(WORKERS[1])), self.services(), self.vims)
        self.assertEqual(before, node)

    def test_a_cordon_that_fails_leaves_none(self) -> None:
        second = self.machine(WORKERS[1]).name

        def fail(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "patch" in argv and second in argv and "null" not in argv[-1]:
                raise CommandFailed("kubectl", 1, "denied")

        with self.assertRaisesRegex(MgmtDriverError, "denied"):
            scale_in.scale_in(self.request(*self.ids(*WORKERS)), self.services(fail), self.vims)
        self.assert_whole(3, 2)

    def test_a_clock_that_differs_ends_it_before_anything_is_installed(self) -> None:
        new = self.arrive(new_node("worker", 20, "10.10.0.20"))
        new.clock = 30.0
        with self.assertRaisesRegex(MgmtDriverError, "worker.*'compare clocks': .*30.0 s ahead"):
            scale_out.scale_out(self.request(new.node.vnfc_id), self.services(), self.vims)
        self.assertEqual(set(), new.packages)

    def test_an_api_that_is_busy_for_a_moment_fails_nothing(self) -> None:
        new = new_node("worker", 20, "10.10.0.20")
        self.arrive(new)
        name = self.machine("10.10.0.20").name
        errors = [
            "etcdserver: leader changed",
            'Error from server (Forbidden): nodes is forbidden: User "kubernetes-admin" cannot '
            'list resource "nodes" in API group "" at the cluster scope',
        ]

        def busy(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "nodes" in argv and name in self.world.nodes and errors:
                raise CommandFailed("kubectl", 1, errors.pop())

        scale_out.scale_out(self.request(new.vnfc_id), self.services(busy), self.vims)
        self.assert_whole(3, 3)
        self.assertEqual([], errors)

    def test_an_etcd_that_times_out_may_have_slow_disks(self) -> None:
        def ask() -> None:
            raise CommandFailed("kubectl", 1, "Error from server: etcdserver: request timed out")

        words = 'timed out.* The disks of etcd may be too slow .*"The disk".* then retry the operat'
        with self.assertRaisesRegex(WaitTimeout, words):
            transient.retry(FakeClock(), ask)

    def test_a_dead_node_is_just_removed(self) -> None:
        machine = self.machine(WORKERS[0])
        machine.alive = False
        scale_in.scale_in(self.request(*self.ids(WORKERS[0])), self.services(), self.vims)
        self.assertNotIn(machine.name, self.world.nodes)
        self.assertEqual([], self.world.drained)

    def test_pods_that_may_not_leave_keep_their_node(self) -> None:
        self.world.budget = "Cannot evict pod as it would violate the pod's disruption budget."
        name = self.machine(WORKERS[0]).name
        self.world.pods = [pod(name, f"web-{n}", "ReplicaSet") for n in range(7)]
        held = {"matchLabels": {"app": "web"}, "matchExpressions": [
            {"key": "tier", "operator": "DoesNotExist"},
            {"key": "app", "operator": "In", "values": ["web"]},
        ]}
        self.world.budgets = [
            {"metadata": {"namespace": namespace, "name": name}, "spec": {"selector": selector},
             "status": {"disruptionsAllowed": allowed}}
            for namespace, name, selector, allowed in (
                ("default", "holds", held, 0), ("default", "allows", held, 1),
                ("other", "elsewhere", held, 0),
                ("default", "others", {"matchLabels": {"app": "db"}}, 0),
            )
        ]
        with self.assertRaisesRegex(
            MgmtDriverError,
            "left: default/web-0 of ReplicaSet owner [(]not evicted[)].* and 2 more; no eviction "
            "is allowed by PodDisruptionBudget default/holds; last seen: Cannot evict.*relax",
        ):
            scale_in.scale_in(self.request(*self.ids(*WORKERS)), self.services(), self.vims)
        self.assert_whole(3, 2)

    def test_pods_that_need_long_to_end_have_their_time(self) -> None:
        """Their node stays cordoned meanwhile, and the next attempt goes on with the drain."""
        name, other = (self.machine(address).name for address in WORKERS)
        self.world.pods = [pod(name, "db-0", "StatefulSet", grace=900)]
        clock = FakeClock()
        request = self.request(*self.ids(*WORKERS))
        with self.assertRaisesRegex(
            MgmtDriverError, "db-0 of StatefulSet owner [(]evicted, has not ended[)].*cordoned: re"
        ):
            scale_in.scale_in(request, self.services(clock=clock), self.vims)
        self.assertGreater(clock.now, 1200)
        self.assertTrue(self.world.nodes[name]["spec"].get("unschedulable"))
        self.assertFalse(self.world.nodes[other]["spec"].get("unschedulable"))
        self.world.pods.clear()
        scale_in.scale_in(request, self.services(), self.vims)
        self.assertEqual(3, len(self.world.nodes))

    def test_a_drain_ends_with_the_time_that_the_request_gives(self) -> None:
        self.params = {**PARAMS, "drain_timeout": "10m"}
        name = self.machine(WORKERS[0]).name
        self.world.pods = [pod(name, "db-0", "StatefulSet", grace=900)]
        with self.assertRaisesRegex(MgmtDriverError, r"after 60\d s [(]drain_timeout: 600 s[)]"):
            scale_in.scale_in(self.request(*self.ids(*WORKERS)), self.services(), self.vims)

    def test_a_drain_goes_on_while_pods_go(self) -> None:
        """Each pod has its time if a budget lets pods go one after another."""
        name = self.machine(WORKERS[0]).name
        self.world.pods = [pod(name, f"db-{n}", "StatefulSet", grace=60) for n in range(5)]
        clock = FakeClock()

        def end(session: SimulatedSession, argv: Sequence[str]) -> None:
            del self.world.pods[: len(self.world.pods) - 5 + int(clock.now / 300)]

        services = self.services(end, clock=clock)
        scale_in.scale_in(self.request(*self.ids(WORKERS[0])), services, self.vims)
        self.assertGreater(clock.now, 1490)

    def test_a_cluster_is_never_without_a_master(self) -> None:
        self.refused("no control-plane node of the cluster would be left: heal the wh", *MASTERS)

    def test_no_quorum_no_heal(self) -> None:
        for address in MASTERS[:2]:
            self.machine(address).alive = False
        self.refused("etcd has 3 voters.*2 must be healthy and 1 are", MASTERS[0])

    def test_one_that_is_unhealthy_stays_in_the_way(self) -> None:
        self.machine(MASTERS[1]).alive = False
        self.refused("nothing was changed", MASTERS[0])

    def test_two_masters_and_a_worker_at_once(self) -> None:
        self.refused("one disk, that of.*each in a request of its own", MASTERS[0], MASTERS[2])
        for number, address in ((3, "10.10.0.12"), (4, "10.10.0.13")):
            self.arrive(new_node("master", number, address), is_member=True)
        self.machine(MASTERS[2]).alive = False
        self.healed(MASTERS[0], MASTERS[2], WORKERS[1])
        self.assert_whole(5, 2)

    def test_an_unhealthy_apiserver_does_not_lead(self) -> None:
        """The first master's is down: the others see to the worker, then to it."""
        self.world.unhealthy.add(self.machine(MASTERS[0]).name)
        self.healed(WORKERS[0])
        self.assert_whole(3, 2)
        self.healed(MASTERS[0])
        self.assert_whole(3, 2)

    def test_a_storage_server_in_use_is_not_healed(self) -> None:
        self.world.claimed = True
        self.refused("in use: pv1 is Bound, claim: none, pods: none. Delete", STORAGE)

    def test_a_volume_that_heat_could_not_make_holds_nobody_else_up(self) -> None:
        self.volume_id = ""
        self.healed(WORKERS[0])
        self.assert_whole(3, 2)
        with self.assertRaisesRegex(
            InventoryError, "Heat could not create volume volume[.] .* stack failures list"
        ):
            self.healed(STORAGE)

    def test_storage_comes_with_the_cluster(self) -> None:
        """Heal of the whole makes all anew: a blank volume, registered in a new cluster."""
        for machine in list(self.world.machines.values()):
            self.replaced(machine.node)
        self.world.nodes, self.world.members, self.world.volumes = {}, [], {}
        self.world.formatted = 0
        self.instantiate(self.services())
        self.assert_whole(3, 2)
        self.assertEqual(1, self.world.formatted)
        self.assertEqual(STORAGE, self.world.volumes["pv1"]["spec"]["nfs"]["server"])
        nodes = [m for m in self.world.machines.values() if m.role != "storage"]
        self.assertTrue(all("nfs-common" in machine.packages for machine in nodes))
        self.assertNotIn("kubeadm", self.machine(STORAGE).packages)

    def test_without_an_api_the_reason_is_told(self) -> None:
        self.world.unhealthy = {self.machine(address).name for address in MASTERS}
        self.refused("the node's apiserver is not ready: etcd failed ", WORKERS[0])

    def test_metadata_is_not_lost_by_a_second_loss(self) -> None:
        """The node that came in the place of one was lost before it was marked."""
        self.world.nodes[self.machine(WORKERS[0]).name]["metadata"]["labels"]["rack"] = "r7"
        for _ in range(2):
            target = self.machine(WORKERS[0]).node
            self.start_heal(WORKERS[0])
            new = self.arrive(self.replaced(target), is_member=True)
        self.assertNotIn("rack", self.world.nodes[new.name]["metadata"]["labels"])
        self.assertEqual("r7", self.metadata()[new.node.vnfc_id]["labels"]["rack"])

    def test_what_a_node_was_freed_of_does_not_come_back(self) -> None:
        """A heal that was given up remembered a taint, which the operator then took away."""
        node = self.world.nodes[self.machine(WORKERS[0]).name]
        node["spec"]["taints"] = [{"key": "maintenance", "effect": "NoSchedule"}]
        self.world.budget = "Cannot evict pod as it would violate the pod's disruption budget."
        with self.assertRaisesRegex(MgmtDriverError, "not drained.*Cannot evict"):
            self.start_heal(WORKERS[0])
        self.world.budget = ""
        del node["spec"]["taints"]
        self.start_heal(WORKERS[0])
        (saved,) = self.metadata().values()
        self.assertEqual([], list(saved["taints"]))

    def test_a_machine_that_comes_later_is_no_successor(self) -> None:
        """A heal was given up; through the v2 API a later machine gets the same VNFC's id."""
        workers = [self.machine(address).node for address in WORKERS]
        self.start_heal(*WORKERS)
        for node in workers:
            self.replaced(node)
        scale_in.scale_in(self.request(workers[0].vnfc_id), self.services(), self.vims)
        self.assertEqual([workers[1].vnfc_id], [*self.metadata()])
        scale_in.scale_in(self.request(workers[1].vnfc_id), self.services(), self.vims)
        self.assertEqual({}, self.world.objects)

    def test_only_what_has_been_restored_is_forgotten(self) -> None:
        workers = [self.machine(address).node for address in WORKERS]
        self.start_heal(*WORKERS)
        for node in workers:
            self.replaced(node)
            self.heal_end(self.request(node.vnfc_id), self.services())
            left = workers[1:] if node is workers[0] else []
            self.assertEqual([node.vnfc_id for node in left], [*self.metadata()])
        self.assert_whole(3, 2)

    def test_kept_metadata_that_somebody_has_changed(self) -> None:
        self.start_heal(WORKERS[0])
        kept = self.world.objects["configmap/tacker-mgmt-drivers-lost-nodes"]["data"]
        whole = json.loads(kept["nodes"])
        (lost,) = whole.values()
        for text, words in (
            ("{", "is damaged. Delete it, then retry"),
            ("[]", "is damaged"),
            (json.dumps({"w": {"node": "n"}}), "is damaged"),
            (json.dumps({"w": {**lost, "node": "--all"}}), "'--all', which is not a node's name"),
            (json.dumps({"w": {**lost, "labels": {"-x": ""}}}), "not the key of a label"),
        ):
            kept["nodes"] = text
            self.refused(words, WORKERS[1])

    def test_a_kubelet_that_starts_again_leaves_no_dead_node(self) -> None:
        """A kubelet registers its node anew before its machine is deleted; others have nodes."""
        target = self.machine(WORKERS[0])
        dead = copy.deepcopy(self.world.nodes[target.name])
        others = copy.deepcopy(dead)
        others["metadata"]["name"] = "worker-0123456789ab"
        self.world.nodes["worker-0123456789ab"] = others
        self.start_heal(WORKERS[0])
        self.world.nodes[target.name] = dead
        self.heal_end(self.request(target.node.vnfc_id), self.services())  # Heat kept the machine
        self.assertIn(target.name, self.world.nodes)
        self.start_heal(WORKERS[0])
        self.world.nodes[target.name] = dead
        self.replaced(target.node)
        self.heal_end(self.request(target.node.vnfc_id), self.services())
        self.assertIsNotNone(self.world.nodes.pop("worker-0123456789ab"))
        self.assert_whole(3, 2)

    def test_a_node_that_was_cordoned_before_stays_cordoned(self) -> None:
        cordoned, other = (self.world.nodes[self.machine(worker).name] for worker in WORKERS)
        cordoned["spec"]["unschedulable"] = True
        self.world.budget = "Cannot evict pod as it would violate the pod's disruption budget."
        with self.assertRaisesRegex(MgmtDriverError, "not drained.*Cannot evict"):
            scale_in.scale_in(self.request(*self.ids(*WORKERS)), self.services(), self.vims)
        self.assertTrue(cordoned["spec"].get("unschedulable"))
        self.assertFalse(other["spec"].get("unschedulable"))

    def healed(self, *addresses: str) -> None:
        targets = [self.machine(address).node for address in addresses]
        self.start_heal(*addresses)
        lost = {self.world.machines[node.server_id].name for node in targets}
        self.assertFalse(lost & set(self.world.nodes))
        self.assertFalse(lost & {m["name"] for m in self.world.members})
        for node in targets:
            self.replaced(node)
        request = self.request(*(node.vnfc_id for node in targets))
        self.heal_end(request, self.services())

    def test_nothing_is_left_of_join_credentials(self) -> None:
        """And certificates are uploaded for a master only."""
        for address, wanted in ((WORKERS[0], 0), (MASTERS[0], 1)):
            uploads: list[Sequence[str]] = []

            def note(
                _: SimulatedSession,
                argv: Sequence[str],
                uploads: list[Sequence[str]] = uploads,
            ) -> None:
                uploads += [argv] if "upload-certs" in argv else []

            target = self.machine(address).node
            self.start_heal(address)
            self.replaced(target)
            self.heal_end(self.request(target.vnfc_id), self.services(note))
            self.assertEqual(wanted, len(uploads))
            self.assertEqual((set(), ""), (self.world.tokens, self.world.certificates))

    def test_a_master_that_works_must_be_reached(self) -> None:
        target = self.machine(MASTERS[2]).node
        self.start_heal(MASTERS[2])
        self.replaced(target)
        self.deaf.add(MASTERS[0])
        request = self.request(target.vnfc_id)
        words = "SSH does not reach other [^:]*: [^,]*, 10.10.0.1[)]"
        with self.assertRaisesRegex(MgmtDriverError, words):
            self.heal_end(request, self.services())
        self.deaf.clear()
        self.heal_end(request, self.services())
        self.assert_whole(3, 2)
