"""The upgrade of a simulated cluster, from its request to its end."""

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any

from mgmt_drivers.cluster import changed_params
from mgmt_drivers.cluster.kubeadm.control_plane import WITH_ETCD
from mgmt_drivers.cluster.series import read_version, skew
from mgmt_drivers.errors import CommandFailed, Explained, MgmtDriverError, ParameterError
from mgmt_drivers.operations import modify, scale_out
from mgmt_drivers.testing.fakes import named
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    PARAMS,
    WORKERS,
    SimulatedClusterTest,
    new_node,
)
from mgmt_drivers.testing.simulated_world import NARROW
from mgmt_drivers.testing.simulation import SimulatedSession
from mgmt_drivers.tests.test_faults import FaultsTestCase

_NEW = "v1.37.2"  # the newest of the wanted series
_KEPT = {"kubernetes_version": "1.37.2"}
WANTED = {"kubernetes_version": "1.37"}


class UpgradableClusterTest(SimulatedClusterTest):
    """A cluster of the series before the newest."""

    def setUp(self) -> None:
        super().setUp()
        self.params = {**PARAMS, "kubernetes_version": "1.36.4"}

    def build(self, is_clustered: bool = True) -> None:
        super().build(is_clustered)
        self.world.have("v1.36.4")

    def modify(self, **wanted: Any) -> None:
        modify.modify(self.request(), self.services(), self.vims, {**WANTED, **wanted})

    def assert_upgraded(self, release: str = _NEW) -> None:
        self.assert_whole(3, 2)
        machines = [m for m in self.world.machines.values() if m.role != "storage"]
        self.assertEqual({release}, {m.running for m in machines} | {self.world.release})
        masters = [m for m in machines if m.role == "master"]
        self.assertEqual({release}, {m.apiserver for m in masters})
        self.assertEqual(NARROW, self.world.bindings)

    def commands(self) -> tuple[list[str], Callable[[SimulatedSession, Sequence[str]], None]]:
        """A list of what changes nodes, in its order, and what notes it."""
        noted: list[str] = []

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            words = list(argv)
            if "drain" in words:
                noted.append(f"drain {words[words.index('drain') + 1]}")
            if "upgrade" in words:
                noted.append(f"{words[words.index('upgrade') + 1]} {session.machine.name}")
            if named(argv)[0] == "restart-kubelet":
                noted.append(f"restart {session.machine.name}")

        return noted, note


class UpgradeTest(UpgradableClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.build()

    def names(self, *addresses: str) -> list[str]:
        return [self.machine(address).name for address in addresses]

    def refused(self, words: str, **wanted: Any) -> None:
        """An upgrade is refused and changes nothing."""
        before = copy.deepcopy((self.world.nodes, self.world.release))
        files = {m.name: (dict(m.files), m.kubeadm) for m in self.world.machines.values()}
        with self.assertRaisesRegex(MgmtDriverError, words):
            self.modify(**wanted)
        self.assertEqual(before, (self.world.nodes, self.world.release))
        after = {m.name: (m.files, m.kubeadm) for m in self.world.machines.values()}
        self.assertEqual(files, after)

    def test_nodes_are_upgraded_one_after_another(self) -> None:
        noted, note = self.commands()
        modify.modify(self.request(), self.services(note), self.vims, WANTED)
        self.assert_upgraded()
        first, *others = self.names(*MASTERS)
        each = [[f"drain {n}", f"node {n}", f"restart {n}"]
                for n in (first, *others, *self.names(*WORKERS))]
        self.assertEqual([f"apply {first}", *sum(each, [])], noted)

    def test_the_load_balancers_leave_out_each_node_in_turn(self) -> None:
        """None when the workers follow, and none after a failure; a node that is done stays in."""
        seen: list[set[str]] = []

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "upgrade" in argv:
                left_out, *others = [set(self.machine(address).left_out) for address in MASTERS]
                self.assertEqual([left_out] * 2, others)
                seen.append(left_out)

        def fail(session: SimulatedSession, argv: Sequence[str]) -> None:
            note(session, argv)
            if "upgrade" in argv and len(seen) == 3:
                raise MgmtDriverError("failed")

        first, second, third = ({name} for name in self.names(*MASTERS))
        with self.assertRaises(Explained):
            modify.modify(self.request(), self.services(fail), self.vims, WANTED)
        self.assertEqual([first, first, second], seen)
        self.assert_balanced()
        seen.clear()
        wanted = {"kubernetes_version": "1.37.2"}
        modify.modify(self.request(), self.services(note), self.vims, wanted)
        self.assertEqual([second, third, set(), set()], seen)

    def test_a_node_is_verified_with_the_programs_that_its_new_kubelet_starts(self) -> None:
        """A kubelet of another series starts them anew, etcd too, seconds after its own start."""
        order: list[tuple[str, str]] = []

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            script, *words = [*named(argv), ""]
            what = f"{script} {words[0]}" if script == "static-pods" else script
            what = "ready" if "/readyz" in argv else what
            if what in ("restart-kubelet", "static-pods end", "ready"):
                order.append((what, session.machine.name))

        modify.modify(self.request(), self.services(note), self.vims, WANTED)
        for name in self.names(*MASTERS):
            after = order[order.index(("restart-kubelet", name)) :]
            self.assertEqual([("static-pods end", name), ("ready", name)], after[1:3])
        for address in MASTERS:
            self.assertEqual([*WITH_ETCD], self.machine(address).ended)

    def test_again_nothing_is_left_to_do(self) -> None:
        self.modify()
        noted, note = self.commands()
        modify.modify(self.request(), self.services(note), self.vims, WANTED)
        self.assertEqual([], noted)

    def test_a_snapshot_is_saved_and_checked(self) -> None:
        self.modify()
        leader = self.machine(MASTERS[0])
        self.assertEqual([leader.name], self.world.checked)
        self.assertIn("/var/lib/tacker-mgmt-drivers/etcd-before-upgrade.db", leader.files)

    def test_machines_that_come_later_get_the_new_version(self) -> None:
        self.modify()
        worker = self.arrive(new_node("worker", 20, "10.10.0.20"))
        scale_out.scale_out(self.request(worker.node.vnfc_id), self.services(), self.vims)
        self.assertEqual((_NEW, _NEW), (worker.kubeadm, worker.running))
        self.assertEqual(_KEPT, changed_params.load(self.store))

    def test_the_cluster_knows_its_version_where_tacker_has_lost_it(self) -> None:
        """Tacker's v2 API saves nothing of an operation that fails."""
        self.modify()
        self.store.kept.clear()
        target = self.machine(MASTERS[1]).node
        request = self.request(target.vnfc_id)
        self.heal_start(request, self.services())
        self.replaced(target)
        self.heal_end(self.request(target.vnfc_id), self.services())
        self.assert_upgraded()
        self.assertEqual(_KEPT, changed_params.load(self.store))

    def test_the_whole_vnf_is_healed_with_the_new_version(self) -> None:
        self.modify()
        kept = self.store
        self.build(is_clustered=False)
        self.store, self.world.release = kept, _NEW
        self.heal_end(self.request(), self.services())
        self.assert_upgraded()

    def test_tacker_keeps_all_rights_if_the_request_says_so(self) -> None:
        self.build()
        self.modify(vim_role="cluster-admin")
        self.assertEqual({**NARROW, "tacker-vim": "cluster-admin"}, self.world.bindings)

    def test_a_newer_patch_release(self) -> None:
        self.build()
        self.world.have("v1.36.1")
        self.params = {**PARAMS, "kubernetes_version": "1.36"}
        self.modify(kubernetes_version="1.36.4")
        self.assert_upgraded("v1.36.4")

    def test_the_newest_release_of_the_clusters_own_series(self) -> None:
        """Later machines get the cluster's release, as before, whatever is published meanwhile."""
        self.world.have("v1.37.2")
        self.params = {**PARAMS, "kubernetes_version": "1.37.2"}
        self.world.newest["1.37"] = "1.37.6"
        self.modify()
        self.assert_upgraded("v1.37.6")
        self.assertEqual({"kubernetes_version": "1.37.6"}, changed_params.load(self.store))
        self.world.newest["1.37"] = "1.37.9"
        worker = self.arrive(new_node("worker", 20, "10.10.0.20"))
        scale_out.scale_out(self.request(worker.node.vnfc_id), self.services(), self.vims)
        self.assertEqual("v1.37.6", worker.running)

    def test_a_cluster_with_a_series_keeps_a_series(self) -> None:
        self.params = {**PARAMS, "kubernetes_version": "1.36"}
        self.modify()
        self.assert_upgraded()
        self.assertEqual(WANTED, changed_params.load(self.store))

    def test_a_machine_whose_image_is_newer_than_the_cluster(self) -> None:
        worker = self.arrive(new_node("worker", 20, "10.10.0.20"))
        worker.packages |= {"kubeadm", "containerd"}
        worker.kubeadm = worker.kubelet = "v1.36.9"
        scale_out.scale_out(self.request(worker.node.vnfc_id), self.services(), self.vims)
        self.assertEqual("v1.36.4", worker.running)

    def test_several_workers_at_once(self) -> None:
        noted, note = self.commands()
        wanted = {**WANTED, "workers_at_once": 2}
        modify.modify(self.request(), self.services(note), self.vims, wanted)
        self.assert_upgraded()
        workers = self.names(*WORKERS)
        for worker in workers:
            own = [word.partition(" ")[0] for word in noted if word.endswith(worker)]
            self.assertEqual(["drain", "node", "restart"], own)

    def test_another_image_repository_is_told_to_kubeadm(self) -> None:
        self.modify(image_repository="registry.example.org/k8s")
        self.assertEqual("registry.example.org/k8s", self.world.repository)
        self.assert_upgraded()

    def test_apiservers_get_the_arguments_of_new_clusters(self) -> None:
        """The next upgrade keeps what the owner of the cluster has made of them."""
        self.modify()
        self.assertEqual({"shutdown-send-retry-after": "true"}, self.world.settings)
        self.world.settings = {"shutdown-send-retry-after": "false", "profiling": "true"}
        before = dict(self.world.settings)
        self.world.have("v1.37.3")
        self.modify(kubernetes_version="1.37.3")
        self.assertEqual(before, self.world.settings)

    def test_downwards(self) -> None:
        path = "k8s_cluster_modification_param.kubernetes_version: "
        for version, words in (("1.35", "cannot be downgraded"), ("1.36.1", "is older")):
            self.refused(path + f".*{words}", kubernetes_version=version)
        self.assertEqual(0, self.connections.total())

    def test_a_node_that_lags_behind(self) -> None:
        """A former upgrade has left it; what Tacker knows is not all."""
        self.machine(WORKERS[1]).running = "v1.35.3"
        self.modify()
        self.assert_upgraded()

    def test_a_node_that_lags_too_far_behind(self) -> None:
        self.machine(WORKERS[1]).running = "v1.34.3"
        self.refused("nothing was changed: .*the cluster has v1.36.4: 1.35 is older")

    def test_members_of_etcd_that_may_lose_their_votes(self) -> None:
        """etcd 3.6 reads the votes where 3.5 has kept them since 3.5.24."""
        self.world.have("v1.33.1")
        self.world.newest["1.34"] = "1.34.4"
        self.params = {**PARAMS, "kubernetes_version": "1.33"}
        names, releases = self.names(*MASTERS), self.world.databases.releases
        releases.update(dict.fromkeys(names, "3.5.24") | {names[1]: "3.5.21"})
        self.refused(
            f"nothing was changed: etcd's member {names[1]} .* has etcd 3.5.21, .* Upgrade to the "
            "newest release of 1.33 first", kubernetes_version="1.34",
        )
        releases[names[1]] = "3.5.24"
        self.modify(kubernetes_version="1.34")
        self.assert_upgraded("v1.34.4")

    def test_an_upgrade_of_etcd_that_has_begun_goes_on(self) -> None:
        """A kubeadm that was killed leaves the first member upgraded, and the release as it was."""
        self.world.have("v1.33.1")
        self.world.newest["1.34"] = "1.34.4"
        self.params = {**PARAMS, "kubernetes_version": "1.33"}
        self.world.databases.releases.update(dict.fromkeys(self.names(*MASTERS[1:]), "3.5.21"))
        self.modify(kubernetes_version="1.34")
        self.assert_upgraded("v1.34.4")

    def test_a_node_that_is_not_ready(self) -> None:
        (name,) = self.names(WORKERS[1])
        del self.world.nodes[name]
        self.refused(f"nothing was changed: {name} is not ready: not in the cluster. Heal")

    def test_a_machine_that_does_not_answer(self) -> None:
        self.deaf.add(WORKERS[0])
        self.refused(f"{WORKERS[0]}: no answer.*The nodes have now v1.36.4: ")

    def test_an_etcd_that_is_not_whole(self) -> None:
        self.world.members.pop()
        self.refused("etcd lacks 1 of 3 members")

    def test_a_disk_that_is_full(self) -> None:
        self.machine(WORKERS[0]).free = 2047
        self.refused("/var/lib has 2047 MiB free, and an upgrade needs 2048")

    def test_a_package_that_is_not_there(self) -> None:
        def lacks(session: SimulatedSession, argv: Sequence[str]) -> None:
            if any(str(word).startswith("KUBERNETES_VERSION=1.37") for word in argv):
                raise MgmtDriverError("the repository has no kubeadm 1.37")

        noted, note = self.commands()
        with self.assertRaisesRegex(MgmtDriverError, "phase 'install kubeadm': the repository"):
            modify.modify(self.request(), self.services(lacks, note), self.vims, WANTED)
        self.assertEqual([], noted)
        self.assertEqual({}, changed_params.load(self.store))

    def test_an_image_that_is_not_there(self) -> None:
        """The cluster stays as it is, but for kubeadm, which knows the images."""
        def lacks(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "pull" in argv and argv[-1] == "r/pause:3.2":
                raise CommandFailed("ctr", 1, "r/pause:3.2: not found")

        for machine in self.world.machines.values():
            machine.images.discard("r/pause:3.2")
        nodes = copy.deepcopy(self.world.nodes)
        noted, note = self.commands()
        with self.assertRaisesRegex(
            Explained,
            "phase 'pull images': .* cannot pull r/pause:3.2. Push the image into its registry, or "
            "name one that has the images of Kubernetes in image_repository",
        ):
            modify.modify(self.request(), self.services(lacks, note), self.vims, WANTED)
        self.assertEqual([], noted)
        self.assertEqual((nodes, "v1.36.4"), (self.world.nodes, self.world.release))
        self.assertEqual({}, changed_params.load(self.store))
        # Machines that come meanwhile join with the old version.
        worker = self.arrive(new_node("worker", 20, "10.10.0.20"))
        scale_out.scale_out(self.request(worker.node.vnfc_id), self.services(), self.vims)
        self.assertEqual("v1.36.4", worker.running)

    def test_workers_that_are_all_cordoned(self) -> None:
        names = self.names(*WORKERS)
        for name in names:
            self.world.nodes[name]["spec"]["unschedulable"] = True

        def die(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "restart-kubelet" in named(argv) and session.machine.name == names[0]:
                raise MgmtDriverError("died")

        with self.assertRaisesRegex(Explained, "died"):
            modify.modify(self.request(), self.services(die), self.vims, WANTED)
        self.modify()
        for name in names:
            self.assertTrue(self.world.nodes[name]["spec"].pop("unschedulable"))
        self.assert_upgraded()

    def test_pods_that_may_not_leave(self) -> None:
        """The error tells which nodes have which version; the node is uncordoned."""
        workers = self.names(*WORKERS)

        def hold(session: SimulatedSession, argv: Sequence[str]) -> None:
            held = "Cannot evict pod as it would violate the pod's disruption budget."
            self.world.budget = held if workers[1] in argv else ""

        with self.assertRaises(Explained) as caught:
            modify.modify(self.request(), self.services(hold), self.vims, WANTED)
        text = str(caught.exception)
        self.assertRegex(text, "'upgrade workers': .KV-DRAIN. node .*relax the PodDisruptionBudget")
        self.assertRegex(text, f"now {_NEW}: .*{workers[0]}; v1.36.4: {workers[1]}[.] The cluster")
        self.assertNotIn("unschedulable", self.world.nodes[workers[1]]["spec"])
        self.world.budget = ""
        self.modify()
        self.assert_upgraded()

    def test_pods_that_still_end_keep_their_node_cordoned(self) -> None:
        (name,) = self.names(WORKERS[0])
        self.world.pods = [{
            "metadata": {"namespace": "default", "name": "db-0"}, "spec": {"nodeName": name},
        }]
        with self.assertRaisesRegex(Explained, f"v1.36.4: .*{name} [(]cordoned[)]"):
            self.modify(drain_timeout="2m")
        self.assertEqual("2m", changed_params.load(self.store)["drain_timeout"])
        self.world.pods.clear()
        self.modify()
        self.assert_upgraded()

    def test_a_kubelet_that_does_not_come_up(self) -> None:
        (name,) = self.names(MASTERS[1])

        def fail(session: SimulatedSession, argv: Sequence[str]) -> None:
            if named(argv)[0] == "restart-kubelet" and session.machine.name == name:
                raise MgmtDriverError("kubelet failed")

        with self.assertRaisesRegex(Explained, f"v1.36.4: {name} [(]cordoned[)]"):
            modify.modify(self.request(), self.services(fail), self.vims, WANTED)
        # New machines join with what the control plane has.
        self.assertEqual(_KEPT, changed_params.load(self.store))
        self.modify()
        self.assert_upgraded()

    def test_operations_between_two_attempts(self) -> None:
        """The node that was upgraded is replaced, so that a node that was not leads."""
        _, second, _ = self.names(*MASTERS)

        def fail(session: SimulatedSession, argv: Sequence[str]) -> None:
            if session.machine.name == second and {"upgrade", "node"} <= {*argv}:
                raise MgmtDriverError("failed")

        with self.assertRaisesRegex(Explained, f"{second} [(]cordoned[)]"):
            modify.modify(self.request(), self.services(fail), self.vims, WANTED)
        old = self.names(*MASTERS[1:], WORKERS[1])
        for address in (WORKERS[0], MASTERS[0]):
            target = self.machine(address).node
            self.heal_start(self.request(target.vnfc_id), self.services())
            self.replaced(target)
            self.heal_end(self.request(target.vnfc_id), self.services())
        worker = self.arrive(new_node("worker", 20, "10.10.0.20"))
        scale_out.scale_out(self.request(worker.node.vnfc_id), self.services(), self.vims)
        nodes = [m for m in self.world.machines.values() if m.role != "storage"]
        self.assertEqual({*old}, {m.name for m in nodes if m.running != _NEW})
        self.modify()
        self.assert_whole(3, 3)
        self.assertEqual({_NEW}, {m.running for m in nodes})

    def test_what_others_cordoned_stays_cordoned(self) -> None:
        (name,) = self.names(WORKERS[0])
        self.world.nodes[name]["spec"]["unschedulable"] = True
        self.modify()
        self.assertTrue(self.world.nodes[name]["spec"]["unschedulable"])

    def test_errors_name_their_parameters(self) -> None:
        for wanted, words in (
            ({}, "param: changes nothing: name renew_certificates, .* kubernetes_version, package"),
            ({"workers_at_once": 2}, "param: changes nothing"),
            ({"kubernetes_version": 1.37}, "kubernetes_version: must be a string"),
            ({"kubernetes_version": "2.0"}, "kubernetes_version: must be a series or a release"),
            ({**WANTED, "workers_at_once": 0}, "workers_at_once: must be a whole number from 1"),
            ({**WANTED, "workers_at_once": True}, "workers_at_once: must be a whole number"),
            ({**WANTED, "package_repository": {"url": "x"}}, "package_repository.url: must be"),
            ({**WANTED, "image_repository": "a b"}, "image_repository: must be like"),
            ({**WANTED, "pod_cidr": "10.0.0.0/8"}, "param.pod_cidr: cannot be changed"),
            ([1], "k8s_cluster_modification_param: must be an object, not a list"),
            ("{", "k8s_cluster_modification_param: must be an object, or its text in JSON"),
            ("[" * 100_000, "k8s_cluster_modification_param: must be an object, or its text"),
        ):
            with self.subTest(wanted), self.assertRaisesRegex(ParameterError, words):
                modify.validate(self.request(), self.store, wanted)

    def test_the_registry_of_the_pod_networks_images_stays(self) -> None:
        self.params = {**self.params, "image_repository": "http://10.10.0.2:5000"}
        for text, words in (
            ("http://10.10.0.3:5000", "must be of 10.10.0.2"),
            ("10.10.0.2:5000", "private_registry_connection_info says that it is http"),
            (None, "must be of 10.10.0.2"),
        ):
            wanted = {**WANTED, "image_repository": text}
            with self.assertRaisesRegex(ParameterError, f"param.image_repository: {words}"):
                modify.validate(self.request(), self.store, wanted)
        wanted = {**WANTED, "image_repository": "http://10.10.0.2:5000/new"}
        modify.validate(self.request(), self.store, wanted)

    def test_a_script_that_would_install_kubelet_before_its_time(self) -> None:
        (self.package / "install_k8s_cluster.sh").write_text("apt-get install kubelet")
        with self.assertRaisesRegex(ParameterError, "script_path: .* KUBERNETES_PACKAGES"):
            modify.validate(self.request(), self.store, WANTED)

    def test_behind_a_proxy_no_runtime_is_restarted(self) -> None:
        self.params = {**self.params, "proxy": {"http_proxy": "http://proxy:3128"}}
        restarted: set[str] = set()

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            restarted.update(argv[2:] if tuple(argv[:2]) == ("systemctl", "restart") else ())

        modify.modify(self.request(), self.services(note), self.vims, WANTED)
        self.assertEqual(set(), restarted)
        self.assertIn("/etc/apt/apt.conf.d/95-mgmt-driver-proxy", self.machine(WORKERS[0]).files)

    def test_text_in_json_will_do(self) -> None:
        found = modify.validate(self.request(), self.store, json.dumps(WANTED))
        self.assertEqual(WANTED, found.patch)

    def test_the_cluster_tells_nothing_but_a_version_within_reach(self) -> None:
        """A tenant who may write in kube-system must not choose what the machines install."""
        worker = self.arrive(new_node("worker", 20, "10.10.0.20"))
        request = self.request(worker.node.vnfc_id)
        for release in ("v1.35.9", "v1.36.3", "v1.38.0", "v1.99.1"):
            self.world.release = release
            with self.assertRaisesRegex(MgmtDriverError, f"has {release}, and Tacker knows 1.36.4"):
                scale_out.scale_out(request, self.services(), self.vims)
            self.assertEqual({}, changed_params.load(self.store))
        self.world.release = _NEW
        scale_out.scale_out(request, self.services(), self.vims)
        self.assertEqual(_KEPT, changed_params.load(self.store))

    def test_what_is_wanted_is_saved_before_the_cluster_changes(self) -> None:
        """The process dies when the cluster has changed: machines get the new packages."""
        wanted = {**WANTED, "package_repository": {"url": "http://new/apt/"}}

        def die(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "apply" in argv and "upgrade" in argv:
                raise MgmtDriverError("died")

        with self.assertRaisesRegex(MgmtDriverError, "died"):
            modify.modify(self.request(), self.services(after=die), self.vims, wanted)
        self.assertEqual({}, changed_params.load(self.store))
        worker = self.arrive(new_node("worker", 20, "10.10.0.20"))
        scale_out.scale_out(self.request(worker.node.vnfc_id), self.services(), self.vims)
        self.assertEqual(_NEW, worker.running)
        self.assertEqual({**wanted, **_KEPT}, changed_params.load(self.store))

    def test_what_is_wanted_is_not_what_the_cluster_has(self) -> None:
        """The process dies before the cluster changes."""
        changed_params.save_wanted(self.store, WANTED)
        worker = self.arrive(new_node("worker", 20, "10.10.0.20"))
        scale_out.scale_out(self.request(worker.node.vnfc_id), self.services(), self.vims)
        self.assertEqual("v1.36.4", worker.running)


class SeveralSeriesTest(UpgradableClusterTest):
    """From 1.35 to 1.37, by 1.36."""

    def setUp(self) -> None:
        super().setUp()
        self.params = {**PARAMS, "kubernetes_version": "1.35.3"}
        self.build()
        self.world.have("v1.35.3")

    def failing(self, *words: str, times: int = 0) -> Callable[..., None]:
        """A fault at a command with all of the words, after so many that go well."""
        seen: list[Sequence[str]] = []

        def fail(session: SimulatedSession, argv: Sequence[str]) -> None:
            if {*words} <= {session.machine.name, *argv}:
                seen.append(argv)
                if len(seen) > times:
                    raise MgmtDriverError("it fails")

        return fail

    def run_until(self, fault: Callable[..., None], words: str) -> None:
        with self.assertRaisesRegex(Explained, words):
            modify.modify(self.request(), self.services(fault), self.vims, WANTED)

    def running(self) -> set[str]:
        return {m.running for m in self.world.machines.values() if m.role != "storage"}

    def test_one_after_another_each_with_a_snapshot(self) -> None:
        noted, note = self.commands()
        modify.modify(self.request(), self.services(note), self.vims, WANTED)
        self.assert_upgraded()
        self.assertEqual(_KEPT, changed_params.load(self.store))
        first = self.machine(MASTERS[0]).name
        self.assertEqual([first] * 2, self.world.checked)
        for address in (*MASTERS, *WORKERS):
            name = self.machine(address).name
            own = [word for word in noted if word.endswith(name) and "apply" not in word]
            self.assertEqual([f"drain {name}", f"node {name}", f"restart {name}"] * 2, own)

    def test_a_failure_in_the_second_step(self) -> None:
        """A retry goes on from there, also if Tacker has kept nothing of the first attempt."""
        second = self.machine(MASTERS[1]).name
        for is_forgotten in (False, True):
            for words, kept in (
                (("apply",), "1.36.4"), (("drain", second), "1.37.2"),
                (("KUBERNETES_VERSION=1.37",), "1.36.4"),
            ):
                with self.subTest(words, is_forgotten=is_forgotten):
                    self.build()
                    self.world.have("v1.35.3")
                    times = 0 if "KUBERNETES" in words[0] else 1
                    self.run_until(self.failing(*words, times=times), "it fails.* now .*v1.36.4")
                    self.assertEqual(kept, changed_params.load(self.store)["kubernetes_version"])
                    if is_forgotten:
                        self.store.kept.clear()
                    noted, note = self.commands()
                    modify.modify(self.request(), self.services(note), self.vims, WANTED)
                    self.assert_upgraded()
                    self.assertEqual(_KEPT, changed_params.load(self.store))
                    self.assertLessEqual(sum("apply" in word for word in noted), 1)

    def test_a_failure_in_the_first_step(self) -> None:
        """Workers that lag behind get the series in between first."""
        self.run_until(self.failing("drain", self.machine(WORKERS[0]).name), "v1.36.4.*v1.35.3")
        self.modify()
        self.assert_upgraded()

    def test_machines_that_come_between_the_steps(self) -> None:
        self.run_until(self.failing("apply", times=1), "it fails")
        worker = self.arrive(new_node("worker", 20, "10.10.0.20"))
        scale_out.scale_out(self.request(worker.node.vnfc_id), self.services(), self.vims)
        self.assertEqual({"v1.36.4"}, self.running())
        self.modify()
        self.assertEqual({_NEW}, self.running())

    def test_machines_that_come_when_tacker_has_kept_nothing(self) -> None:
        """The heal names the upgrade, and gets its repositories at the release between."""
        wanted = {**WANTED, "package_repository": {"url": "https://new/{series}/"}}
        with self.assertRaisesRegex(Explained, "it fails"):
            services = self.services(self.failing("apply", times=1))
            modify.modify(self.request(), services, self.vims, wanted)
        self.store.kept.clear()
        modify.note_wanted(self.request(), self.store, wanted)
        worker = self.arrive(new_node("worker", 20, "10.10.0.20"))
        scale_out.scale_out(self.request(worker.node.vnfc_id), self.services(), self.vims)
        self.assertEqual("v1.36.4", worker.running)
        self.assertEqual({**wanted, "kubernetes_version": "1.36.4"},
                         changed_params.load(self.store))

    def test_the_repository_of_each_series(self) -> None:
        urls: dict[str, None] = {}

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            urls.update(dict.fromkeys(w for w in argv if w.startswith("PACKAGE_REPOSITORY=")))

        wanted = {**WANTED, "package_repository": {"url": "https://mirror/v{series}/deb"}}
        modify.modify(self.request(), self.services(note), self.vims, wanted)
        self.assertEqual([f"PACKAGE_REPOSITORY=https://mirror/v1.{n}/deb/" for n in (36, 37)],
                         [*urls])

    def test_a_repository_of_one_series(self) -> None:
        words = (r"param.package_repository.url: is of one series: to go by 1.36, 1.37, name .*"
                 r"write \{series\} in")
        for url in ("https://mirror/v1.37/deb/", "https://mirror/1.37"):
            wanted = {**WANTED, "package_repository": {"url": url}}
            with self.assertRaisesRegex(ParameterError, words):
                modify.validate(self.request(), self.store, wanted)
        for url in ("https://mirror/all", "https://10.1.36.4/deb", "https://mirror/{series}/"):
            wanted = {**WANTED, "package_repository": {"url": url}}
            modify.validate(self.request(), self.store, wanted)
        self.assertEqual(0, self.connections.total())


class SkewTest(SimulatedClusterTest):
    def test_skew(self) -> None:
        for current, wanted, words in (
            ("1.36.4", "1.37", ""),
            ("1.36.4", "1.37.0", ""),
            ("1.36.4", "1.36", ""),
            ("1.36.4", "1.36.4", ""),
            ("1.36.4", "1.36.3", "older"),
            ("1.36", "1.36.3", ""),
            ("1.36.4", "1.35.9", "older"),
            ("1.35.9", "1.37", "more than one minor version"),
            ("1.29.9", "1.30.0", ""),
        ):
            versions = (read_version(current), read_version(wanted))
            with self.subTest(current=current, wanted=wanted):
                assert versions[0] and versions[1]
                self.assertRegex(skew(versions[0], versions[1]), words or "^$")


class UpgradeFaultsTest(FaultsTestCase, UpgradableClusterTest):
    def test_upgrade(self) -> None:
        """Every remote command fails once; trying again ends right."""

        def story(number: int, fault: str) -> bool:
            request = self.request()
            struck = self.cured(
                lambda s: modify.modify(request, s, self.vims, WANTED), number, fault
            )
            self.assert_upgraded()
            self.assertEqual(_KEPT, changed_params.load(self.store))
            worker = self.arrive(new_node("worker", 20, "10.10.0.20"))
            scale_out.scale_out(self.request(worker.node.vnfc_id), self.services(), self.vims)
            self.assertEqual(_NEW, worker.running)
            return struck

        self.assertGreater(self.all_faults(story), 700)

    def test_an_election_is_waited_out(self) -> None:
        self.build()
        self.world.unanswered = set()
        modify.modify(self.request(), self.services(), self.vims, WANTED)
        self.assert_upgraded()
