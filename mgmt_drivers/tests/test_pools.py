"""Pools of workers: their parameters, machines, labels, taints and kubelets; kubeadm's patches."""

import dataclasses
import json
from typing import Any

import yaml

from mgmt_drivers.cluster.cluster_checks import read_params
from mgmt_drivers.cluster.hardening import hardening
from mgmt_drivers.cluster.kubeadm import kubeadm, kubeadm_config
from mgmt_drivers.cluster.kubeadm.cluster_fields import ClusterFields
from mgmt_drivers.cluster.topology import topology
from mgmt_drivers.errors import InventoryError, MgmtDriverError, ParameterError
from mgmt_drivers.inventory import Inventory, Node
from mgmt_drivers.operations import modify, scale_in, scale_out
from mgmt_drivers.request import INSTANTIATE, LcmRequest
from mgmt_drivers.secret import Secret
from mgmt_drivers.testing.fake_cluster import POOL_CP, WORKER_CP, cluster
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    PARAMS,
    WORKERS,
    SimulatedClusterTest,
    new_node,
)
from mgmt_drivers.testing.simulated_kubeadm import UNINITIALIZED
from mgmt_drivers.tests.test_faults import FaultsTestCase
from mgmt_drivers.tests.test_kubernetes_params import ParamsTestCase
from mgmt_drivers.tests.test_upgrade import WANTED, UpgradableClusterTest

_NAME = "k8s_cluster_installation_param"
POOL: dict[str, Any] = {
    "ssh_cp_name": POOL_CP, "nic_cp_name": POOL_CP, "username": "ubuntu", "password": "other",
    "labels": {"example.com/pool": "dataplane"},
    "taints": [{"key": "dedicated", "value": "dataplane", "effect": "NoSchedule"}],
    "kubelet_config": {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"},
}
_SHOWN = {"key": "dedicated", "value": "dataplane", "effect": "NoSchedule"}
POOLED = "10.10.0.30"
_WORKERS_FIELDS = {"kubelet_config": {"evictionHard": {"memory.available": "5%"}}}


class RefusingTestCase(ParamsTestCase):
    def refused(self, values: dict[str, Any], *words: str) -> None:
        errors = self.errors(values)
        self.assertEqual(len(words), len(errors), errors)
        for word, error in zip(words, errors, strict=True):
            self.assertTrue(error.startswith(word), error)


class PoolParamsTest(RefusingTestCase):
    """The parameters of pools, and every error with its path."""

    def with_pool(self, **changes: Any) -> dict[str, Any]:
        self.more_cps = {"CP3": "workerNode2"}
        pool = {**POOL, "ssh_cp_name": "CP3", "nic_cp_name": "CP3", **changes}
        return {**self.values(), "worker_pools": [pool]}

    def test_a_pool(self) -> None:
        found = self.read(self.with_pool())
        self.assertEqual([found.master, found.worker, found.pools[0]], [*found.groups])
        self.assertEqual((("example.com/pool", "dataplane"),), found.pools[0].labels)
        self.assertEqual([_SHOWN], [taint.shown() for taint in found.pools[0].taints])
        self.assertEqual(POOL["kubelet_config"], json.loads(found.pools[0].kubelet_config))
        self.assertIn("other", [secret.reveal() for secret in found.secrets()])
        self.assertFalse(found.worker.labels or found.worker.taints or found.worker.kubelet_config)

    def test_groups_have_cps_and_vdus_of_their_own(self) -> None:
        for cp, words in (
            ("CP1", "must be another VDU's CP than that of master_node"),
            ("CP2", "must be another VDU's CP than that of worker_node"),
            ("CP4", "must be another VDU's CP than that of worker_node"),
        ):
            values = self.with_pool(nic_cp_name=cp)
            self.more_cps = {"CP3": "workerNode2", "CP4": "workerNode"}
            self.refused(values, f"worker_pools[0].nic_cp_name: {words}")
        values = self.with_pool()
        values["worker_pools"] *= 2
        self.refused(
            values,
            "worker_pools[1].nic_cp_name: must be another VDU's CP than that of worker_pools[0]",
        )

    def test_a_vdu_of_workers_that_no_pool_names(self) -> None:
        values = self.with_pool()
        del values["worker_pools"]
        self.refused(values, "worker_pools: no parameter names a CP of VDU workerNode2: CP3")

    def test_labels(self) -> None:
        for key in ("rack", "a.b/c_d.e", "node.kubernetes.io/x", "kubelet.kubernetes.io/x",
                    "x.node.kubernetes.io/y"):
            for good in ("", "a", "a.B-c_d", "9" * 63):
                self.read(self.with_pool(labels={key: good}))
        for key, words in (
            ("", "must have a key"), ("a/b/c", "must have a key"), ("-a", "must have a key"),
            ("A.b/c", "must have a key"), ("a..b/c", "must have a key"), ("a" * 64, "must have"),
            ("é", "must have a key"), ("a,b", "must have a key"), ("a=b", "must have a key"),
            ("kubernetes.io/x", "kubelet must not set labels of kubernetes.io"),
            ("node-role.kubernetes.io/worker", "kubelet must not set labels of node-role."),
            ("node-restriction.kubernetes.io/x", "kubelet must not"),
            ("a.k8s.io/x", "kubelet must not"),
            ("topology.kubernetes.io/zone", "is set by the drivers"),
            ("CIS-node", "is set by the drivers"),
            ("node.kubernetes.io/instance-type", "is set by the drivers or kubelet"),
            ("topology.kubernetes.io/region", "kubelet must not set labels of topology."),
        ):
            with self.subTest(key):
                self.refused(
                    self.with_pool(labels={key: "a"}), f"worker_pools[0].labels.{key}: {words}"
                )
        for value in ("-", "a b", "a" * 64, 1, None, "a,b=c", "é"):
            self.refused(self.with_pool(labels={"a": value}), "worker_pools[0].labels.a: must be a")
        self.refused(self.with_pool(labels=[]), "worker_pools[0].labels: must be an object")

    def test_taints(self) -> None:
        place = "worker_pools[0].taints[0]"
        for taint, words in (
            ({"key": "a", "effect": "Never"}, f"{place}.effect: must be one of: NoSchedule"),
            ({"key": "a"}, f"{place}.effect: missing"),
            ({"effect": "NoExecute"}, f"{place}.key: missing"),
            ({"key": "a b", "effect": "NoExecute"}, f"{place}.key: must have a key"),
            ({"key": "node.kubernetes.io/x", "effect": "NoExecute"}, f"{place}.key: taints of"),
            ({**UNINITIALIZED}, f"{place}.key: taints of"),
            ({"key": "a", "value": "a b", "effect": "NoExecute"}, f"{place}.value: must be a str"),
        ):
            self.refused(self.with_pool(taints=[taint]), words)
        self.refused(
            self.with_pool(taints=[_SHOWN, {**_SHOWN, "value": "b"}]),
            "worker_pools[0].taints[1]: has key and effect of a taint before it",
        )
        self.read(self.with_pool(taints=[_SHOWN, {**_SHOWN, "effect": "NoExecute"}]))

    def test_fields_of_kubelet(self) -> None:
        for group in ("master_node", "worker_node"):
            values = self.values()
            values[group]["kubelet_config"] = {"evictionHard": {"memory.available": "5%"}}
            self.read(values)
        place = "worker_pools[0].kubelet_config"
        for field, words in (
            ("clusterDNS", "is set by kubeadm"),
            ("cgroupDriver", "is set by the container runtime"),
            ("seccompDefault", "is set by the drivers' hardening"),
            ("registerWithTaints", "is set by taints"), ("maxPods", "is set by master_node.pod"),
            ("Cpu manager", "is no name of a field"),
        ):
            self.refused(self.with_pool(kubelet_config={field: 1}), f"{place}.{field}: {words}")
        for version, field, words in (
            ("1.37", "evictionHart", "is no field of KubeletConfiguration in Kubernetes 1.37"),
            ("1.37", "evictionhard", "is no field of"),
            ("1.31.2", "userNamespaces", "needs Kubernetes 1.33 or later"),
        ):
            values = {**self.with_pool(kubelet_config={field: 1}), "kubernetes_version": version}
            self.refused(values, f"{place}.{field}: {words}")
        self.read({**values, "kubernetes_version": "1.33"})
        for value in ({"a": "x" * 20000}, {"a": float("nan")}):
            self.refused(self.with_pool(kubelet_config=value), f"{place}: must be at most")
        self.refused(self.with_pool(kubelet_config="x"), f"{place}: must be an object")

    def test_all_fields_that_others_set_are_refused(self) -> None:
        for hardened in (None, "cis"):
            made, _ = cluster(version="1.37", hardening=hardened)
            config = kubeadm_config.for_init(
                made.leader, made, "v1.37.1", Secret("a.b"), {}, keeps_cgroup_v1=True
            )
            fields = [*yaml.safe_load_all(config.reveal())][2]
            self.assertLess({*hardening.settings("kubelet", made.params)}, fields.keys())
            values = self.with_pool(kubelet_config=fields)
            self.assertEqual(len(fields), len(self.errors(values)))

    def test_old_series_have_no_patches(self) -> None:
        repository = {"url": "http://mirror/apt", "key_path": "key.asc"}
        (self.package / "patches").mkdir()
        values = self.with_pool()
        values |= {"package_repository": repository, "kubeadm_patches": "patches"}
        kubelet = "worker_pools[0].kubelet_config: needs Kubernetes 1.25"
        self.refused({**values, "kubernetes_version": "1.24"}, kubelet)
        patches = "kubeadm_patches: needs Kubernetes 1.22"
        self.refused({**values, "kubernetes_version": "1.21"}, kubelet, patches)
        self.read({**values, "kubernetes_version": "1.25"})

    def test_patches(self) -> None:
        folder = self.package / "patches"
        (folder / "files").mkdir(parents=True)
        (folder / "files/anything.txt").write_text(": {")
        values = {**self.values(), "kubeadm_patches": "patches"}
        for name in ("etcd.yaml", "kube-scheduler0+merge.json", "kube-apiserver-oidc+json.yaml"):
            (folder / name).write_text("[]")
        self.assertEqual(folder.resolve(), self.read(values).kubeadm_patches)
        for name, words in (
            ("kubelet.yaml", "kubelet.yaml is no patch"), ("etcd.txt", "etcd.txt is no patch"),
            ("kubeletconfiguration.yaml", "kubeletconfiguration.yaml is no patch"),
            ("etcd+other.yaml", "etcd+other.yaml is no patch"),
            ("etcd2.yaml", "is not etcd2.yaml: a patch in YAML or JSON: "),
        ):
            (folder / name).write_text("a: [")
            self.refused(values, f"kubeadm_patches: {words}")
            (folder / name).unlink()
        for value, words in (("nothing", "the VNF package has no folder nothing"),
                             ("install.sh", "the VNF package has no folder install.sh"),
                             ("..", ".. lies outside the VNF package")):
            self.refused({**values, "kubeadm_patches": value}, f"kubeadm_patches: {words}")


class ClusterFieldsTest(RefusingTestCase):
    def with_fields(self, **fields: Any) -> dict[str, Any]:
        return {**self.values(), "cluster_configuration": fields}

    def test_fields(self) -> None:
        given = {"certificateValidityPeriod": "200d", "encryptionAlgorithm": "ECDSA-P256"}
        found = self.read(self.with_fields(**given)).cluster_fields
        assert found
        self.assertEqual({**given, "certificateValidityPeriod": "4800h0m0s"}, found.shown())

    def test_refused_fields(self) -> None:
        for fields, words in (
            ({"certificateValidityPeriod": "179d"}, "certificateValidityPeriod: must be"),
            ({"caCertificateValidityPeriod": "8760h0m0s"}, "caCertificateValidityPeriod: must"),
            ({"encryptionAlgorithm": "DSA"}, "encryptionAlgorithm: must be one of: RSA-2048"),
            ({"apiServer": {}}, "apiServer: is set by kubeadm_patches"),
            ({"etcd": {"external": {}}}, "etcd: is set by kubeadm_patches"),
            ({"networking": {}}, "networking: is set by master_node.pod_cidr"),
            ({"controlPlaneEndpoint": "a"}, "controlPlaneEndpoint: is set by the drivers"),
            ({"kubernetesVersion": "v1.36.1"}, "kubernetesVersion: is set by kubernetes_version"),
            ({"certificateValidity": "200d"}, "certificateValidity: unknown parameter; known"),
        ):
            self.refused(self.with_fields(**fields), f"cluster_configuration.{words}")
        values = {**self.with_fields(encryptionAlgorithm="RSA-3072"), "kubernetes_version": "1.30"}
        self.refused(values, "cluster_configuration: needs Kubernetes 1.31 or later")

    def test_kubeadm_gets_the_fields(self) -> None:
        """In all configurations with the part that kubeadm keeps in the cluster."""
        fields = ClusterFields(200 * 86400, None, "ECDSA-P256")
        made, _ = cluster(version="1.36", cluster_fields=fields)
        credentials = kubeadm_config.JoinCredentials(Secret("a.b"), None)
        for config in (
            kubeadm_config.for_init(made.leader, made, "v1.36.1", Secret("a.b"), {}, False),
            kubeadm_config.for_credentials(made.leader, made, "v1.36.1", credentials),
            kubeadm_config.for_certificate(made.leader, made, "v1.36.1"),
        ):
            documents = {d["kind"]: d for d in yaml.safe_load_all(config.reveal()) if "kind" in d}
            found = documents["ClusterConfiguration"]
            self.assertEqual("ECDSA-P256", found["encryptionAlgorithm"])
            self.assertEqual("4800h0m0s", found["certificateValidityPeriod"])
            self.assertNotIn("caCertificateValidityPeriod", found)


class PooledClusterTest(SimulatedClusterTest):
    """A cluster with a second pool of one worker."""

    version = "1.36.4"

    def setUp(self) -> None:
        super().setUp()
        self.params = {**PARAMS, "kubernetes_version": self.version, "worker_pools": [POOL]}

    def build(self, is_clustered: bool = True) -> None:
        super().build(is_clustered)
        self.arrive(self.pooled(30, POOLED), is_member=is_clustered)
        self.world.have(f"v{self.version}")

    def pooled(self, number: int, address: str) -> Node:
        node = new_node("worker", number, address)
        return dataclasses.replace(node, vdu="workerNode2", addresses={POOL_CP: address})

    def request(self, *targets: str) -> LcmRequest:
        request = super().request(*targets)
        return dataclasses.replace(request, cps={**request.cps, POOL_CP: "workerNode2"})

    def assert_pooled(self, *addresses: str) -> None:
        """The nodes of the pool, and no others, have what the pool has."""
        for machine in self.world.machines.values():
            if machine.role == "storage" or not machine.came:
                continue
            node, is_pooled = self.world.nodes[machine.name], machine.address in addresses
            label = node["metadata"]["labels"].get("example.com/pool")
            self.assertEqual("dataplane" if is_pooled else None, label, machine.name)
            self.assertEqual([_SHOWN] if is_pooled else [], node["spec"]["taints"])
            fields = POOL["kubelet_config"] if is_pooled else {}
            self.assertEqual(fields, machine.kubelet_fields, machine.name)


class OperationsTest(PooledClusterTest):
    def test_instantiate(self) -> None:
        self.build(is_clustered=False)
        self.instantiate(self.services())
        self.assert_whole(3, 3)
        self.assert_pooled(POOLED)

    def test_nodes_that_a_cloud_controller_manager_initializes(self) -> None:
        """A node that was lost before leaves its taint to nobody."""
        self.params["worker_pools"] = [{**POOL, "cloud_provider": "external"}]
        self.build(is_clustered=False)
        self.instantiate(self.services())
        target = self.machine(POOLED)
        taints = {name: node["spec"]["taints"] for name, node in self.world.nodes.items()}
        self.assertEqual([_SHOWN, UNINITIALIZED], taints.pop(target.name))
        self.assertEqual([[]] * 5, [*taints.values()])
        self.heal_start(self.request(target.node.vnfc_id), self.services())
        self.assertNotIn(UNINITIALIZED["key"], str(self.metadata()))

    def test_all_nodes_wait_for_a_cloud_controller_manager(self) -> None:
        """Cluster DNS starts when an add-on has opened a node: nobody waits for it before."""
        for key in ("master_node", "worker_node"):
            self.params[key] = {**self.params[key], "cloud_provider": "external"}
        self.params["worker_pools"] = [{**POOL, "cloud_provider": "external"}]
        self.build(is_clustered=False)
        self.world.dns, self.world.dns_broken = ["", ""], {"coredns-0": {}, "coredns-1": {}}
        self.instantiate(self.services())
        self.assertEqual(6, str(self.world.nodes).count(UNINITIALIZED["key"]))

    def test_kubeadm_validates_the_fields_of_each_pool_before_anything_changes(self) -> None:
        refused = {**POOL, "kubelet_config": {"logging": {"refused": True}}}
        self.params["worker_node"] = {**self.params["worker_node"], **_WORKERS_FIELDS}
        for pool, words in ((refused, 'unknown field "refused"'), (POOL, "")):
            self.params["worker_pools"] = [pool]
            self.build(is_clustered=False)
            if words:
                with self.assertRaisesRegex(MgmtDriverError, words):
                    self.instantiate(self.services())
                self.assertEqual({}, self.world.nodes)
        self.instantiate(self.services())
        self.assertEqual(_WORKERS_FIELDS["kubelet_config"], self.machine(WORKERS[0]).kubelet_fields)

    def test_a_cluster_that_runs_is_not_locked_out_by_its_fields(self) -> None:
        """Earlier drivers took any field."""
        self.params["worker_pools"] = [{**POOL, "kubelet_config": {"fieldOfNobody": 1}}]
        self.build()
        read_params(self.request())
        with self.assertRaises(ParameterError):
            read_params(dataclasses.replace(self.request(), operation=INSTANTIATE))

    def test_a_cluster_is_made_anew_with_fields_that_kubeadm_refuses(self) -> None:
        """Its old machines are gone by then, and no modification changes the fields."""
        self.params["worker_pools"] = [{**POOL, "kubelet_config": {"refused": True}}]
        self.build()
        self.heal_start(self.request(), self.services())
        self.replace_all()
        self.heal_end(self.request(), self.services())
        self.assertEqual({"refused": True}, self.machine(POOLED).kubelet_fields)

    def test_configurations_to_validate(self) -> None:
        """Each is whole, so that kubeadm asks neither the network nor the internet."""
        made, _ = cluster(version="1.36")
        own = json.dumps({"cgroupRoot": "..."})
        group = dataclasses.replace(made.params.worker, kubelet_config=own)
        made = dataclasses.replace(made, topology=dataclasses.replace(
            made.topology, params=dataclasses.replace(made.params, worker=group, pools=(group,))))
        (config,) = kubeadm_config.for_validation(made.leader, made, "v1.36.4")
        first, second, fields = yaml.safe_load_all(config.reveal())
        self.assertEqual("v1.36.4", second["kubernetesVersion"])
        self.assertLessEqual({"nodeRegistration", "localAPIEndpoint"}, first.keys())
        self.assertEqual(("KubeletConfiguration", "..."), (fields["kind"], fields["cgroupRoot"]))
        self.assertNotIn("...", config.reveal().splitlines())

    def test_scaling_each_pool(self) -> None:
        self.build()
        for node in (self.pooled(31, "10.10.0.31"), new_node("worker", 20, "10.10.0.20")):
            self.arrive(node)
            scale_out.scale_out(self.request(node.vnfc_id), self.services(), self.vims)
            self.assert_whole(3, 4)
            self.assert_pooled("10.10.0.31")
            name = self.machine(node.address(next(iter(node.addresses)))).name
            self.assertRegex(name, "^worker-[0-9a-f]{12}$")
            scale_in.scale_in(self.request(node.vnfc_id), self.services(), self.vims)
            self.assertNotIn(name, self.world.nodes)
            del self.world.machines[node.server_id]

    def test_machines_that_come_get_the_pools_new_login(self) -> None:
        """Heat gives them the login of the instantiate request."""
        self.build()
        changed = {"worker_pools": [{**POOL, "password": "N3w"}]}
        modify.modify(self.request(), self.services(), self.vims, changed)
        new = self.arrive(self.pooled(31, "10.10.0.31"))
        new.password = POOL["password"]
        scale_out.scale_out(self.request(new.node.vnfc_id), self.services(), self.vims)
        self.assertEqual("N3w", new.password)

    def test_a_successor_has_the_pools_marks_and_those_that_others_gave(self) -> None:
        self.build()
        target = self.machine(POOLED)
        self.world.nodes[target.name]["metadata"]["labels"]["rack"] = "r7"
        self.heal_start(self.request(target.node.vnfc_id), self.services())
        self.replaced(target.node)
        self.heal_end(self.request(target.node.vnfc_id), self.services())
        new = self.machine(POOLED)
        self.assert_pooled(POOLED)
        self.assertEqual("r7", self.world.nodes[new.name]["metadata"]["labels"]["rack"])


class PooledFaultsTest(PooledClusterTest, FaultsTestCase):
    def test_scale_out_of_a_pool(self) -> None:
        def story(number: int, fault: str) -> bool:
            new = self.arrive(self.pooled(31, "10.10.0.31")).node
            request = self.request(new.vnfc_id)
            struck = self.cured(
                lambda s: scale_out.scale_out(request, s, self.vims), number, fault
            )
            self.assert_whole(3, 4)
            self.assert_pooled("10.10.0.31")
            return struck

        self.assertGreater(self.all_faults(story), 50)


class UpgradeTest(UpgradableClusterTest, PooledClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.params = {**self.params, "worker_pools": [POOL]}
        self.build()

    def test_one_pool_after_another(self) -> None:
        noted, note = self.commands()
        wanted = {**WANTED, "workers_at_once": 2}
        modify.modify(self.request(), self.services(note), self.vims, wanted)
        names = [self.machine(address).name for address in (*WORKERS, POOLED)]
        drained = [line.partition(" ")[2] for line in noted if line.startswith("drain worker")]
        self.assertEqual(({*names[:2]}, names[2:]), ({*drained[:2]}, drained[2:]))
        self.assertEqual(POOL["kubelet_config"], self.machine(POOLED).kubelet_fields)
        self.assertEqual({}, self.machine(WORKERS[0]).kubelet_fields)


class PatchesTest(PooledClusterTest):
    def test_the_control_plane_gets_patches_and_their_files(self) -> None:
        folder = self.package / "patches"
        (folder / "files").mkdir(parents=True)
        (folder / "kube-apiserver+json.yaml").write_text("[]")
        (folder / "files/policy.yaml").write_text("rules: []")
        self.params = {**self.params, "kubeadm_patches": "patches"}
        self.build(is_clustered=False)
        self.instantiate(self.services())
        policy = "/etc/kubernetes/patch-files/policy.yaml"
        for machine in self.world.machines.values():
            found = {path for path in machine.files if "/patches-" in path}
            names = {path.rpartition("/")[2] for path in found}
            is_master = machine.role == "master"
            self.assertEqual("kube-apiserver+json.yaml" in names, is_master)
            self.assertEqual((b"rules: []", "600") if is_master else None,
                             machine.files.get(policy))
            self.assertEqual(machine.address == POOLED, not is_master and bool(found))

    def test_another_content_is_another_folder(self) -> None:
        made, _ = cluster(version="1.36", kubeadm_patches=self.package / "patches")
        folder = self.package / "patches"
        folder.mkdir()
        seen = set()
        for name, text in (("etcd.yaml", "a: 1"), ("etcd.yaml", "a: 2"), ("etcd1.yaml", "a: 2")):
            (folder / name).write_text(text)
            seen.add(kubeadm.patches.folder(made.leader, made))
            (folder / name).unlink()
        self.assertEqual((3, ""), (len(seen), kubeadm.patches.folder(made.leader, made)))


class ModificationTest(PooledClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.build()
        self.node = self.world.nodes[self.machine(POOLED).name]
        self.node["metadata"]["labels"] |= POOL["labels"]
        self.node["spec"]["taints"] = [_SHOWN]

    def modify(self, **changes: Any) -> None:
        patch = {"worker_pools": [{**POOL, **changes}]}
        modify.modify(self.request(), self.services(), self.vims, patch)

    def labels(self, address: str) -> dict[str, str]:
        labels: dict[str, str] = self.world.nodes[self.machine(address).name]["metadata"]["labels"]
        return {key: value for key, value in labels.items() if key != "kubernetes.io/os"}

    def test_what_is_added_changed_and_removed(self) -> None:
        foreign = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "timeAdded": "now"}
        self.node["metadata"]["labels"] |= {"own": "x"}
        self.node["spec"]["taints"].insert(0, foreign)
        self.modify(labels={"example.com/pool": "dataplane", "old": "1"})
        self.assertEqual("1", self.labels(POOLED)["old"])
        taint = {"key": "dedicated", "effect": "NoExecute"}
        self.modify(labels={"example.com/pool": "edge", "new": ""}, taints=[taint])
        self.assertEqual(
            {"example.com/pool": "edge", "own": "x", "new": ""}, self.labels(POOLED)
        )
        self.assertEqual([foreign, taint], self.node["spec"]["taints"])
        self.assertEqual([{}] * 5, [self.labels(address) for address in (*WORKERS, *MASTERS)])

    def test_the_first_pool_and_nodes_that_come_later(self) -> None:
        patch = {"worker_node": {"labels": {"rack": "r7"}, "taints": [_SHOWN]}}
        modify.modify(self.request(), self.services(), self.vims, patch)
        new = self.arrive(new_node("worker", 20, "10.10.0.20")).node
        scale_out.scale_out(self.request(new.vnfc_id), self.services(), self.vims)
        for address in (*WORKERS, "10.10.0.20"):
            self.assertEqual({"rack": "r7"}, self.labels(address))
            node = self.world.nodes[self.machine(address).name]
            self.assertEqual([_SHOWN], node["spec"]["taints"])
        removal = {"worker_node": {"labels": {"rack": None}, "taints": None}}
        modify.modify(self.request(), self.services(), self.vims, removal)
        self.assertEqual([{}] * 2, [self.labels(address) for address in WORKERS])
        self.assertEqual(POOL["labels"], self.labels(POOLED))

    def test_nothing_is_written_where_all_is_well(self) -> None:
        taint = {**_SHOWN, "timeAdded": "now"}
        self.node["spec"]["taints"] = [taint]
        self.node["metadata"]["labels"]["rack"] = "r7"
        self.modify(labels={**POOL["labels"], "rack": "r7"})
        self.assertEqual([taint], self.node["spec"]["taints"])

    def test_pools_stay_as_they_are_but_for_labels_and_taints(self) -> None:
        for patch, path in (
            ({"worker_pools": []}, "worker_pools"), ({"worker_pools": None}, "worker_pools"),
            ({"worker_pools": [POOL, POOL]}, "worker_pools"),
            ({"worker_pools": [{**POOL, "kubelet_config": {}}]}, "worker_pools[0].kubelet_config"),
            ({"worker_pools": [{**POOL, "nic_cp_name": WORKER_CP}]},
             "worker_pools[0].nic_cp_name"),
            ({"kubeadm_patches": "patches"}, "kubeadm_patches"),
        ):
            with self.assertRaises(ParameterError) as caught:
                modify.modify(self.request(), self.services(), self.vims, patch)
            (error,) = caught.exception.errors
            self.assertIn(f"k8s_cluster_modification_param.{path}: cannot be changed by", error)

    def test_errors_of_labels_have_the_path_of_the_request(self) -> None:
        with self.assertRaises(ParameterError) as caught:
            self.modify(labels={"kubernetes.io/x": "y"})
        path = "k8s_cluster_modification_param.worker_pools[0].labels.kubernetes.io/x: "
        self.assertIn(f"{path}kubelet must not", str(caught.exception))


class ModificationFaultsTest(PooledClusterTest, FaultsTestCase):
    def test_a_change_of_labels_and_taints(self) -> None:
        def story(number: int, fault: str) -> bool:
            node = self.world.nodes[self.machine(POOLED).name]
            node["metadata"]["labels"] |= POOL["labels"]
            node["spec"]["taints"] = [_SHOWN]
            pool = {**POOL, "labels": {"a": "b"}, "taints": []}
            struck = self.cured(
                lambda s: modify.modify(self.request(), s, self.vims, {"worker_pools": [pool]}),
                number, fault,
            )
            self.assertNotIn("example.com/pool", node["metadata"]["labels"])
            self.assertEqual(("b", []), (node["metadata"]["labels"]["a"], node["spec"]["taints"]))
            return struck

        self.assertGreater(self.all_faults(story), 20)


class TopologyTest(SimulatedClusterTest):
    def test_a_machine_is_of_one_group(self) -> None:
        made, _ = cluster()
        pool = dataclasses.replace(made.params.worker, ssh_cp_name="fip", nic_cp_name=POOL_CP)
        params = dataclasses.replace(made.params, pools=(pool,))
        both = Node("v", "VDU", "s", {POOL_CP: "192.0.2.1", WORKER_CP: "192.0.2.2"})
        with self.assertRaisesRegex(InventoryError, f"exactly one of the CPs .*, {POOL_CP}"):
            topology(params, Inventory((both,), {}))
        addresses = {POOL_CP: "192.0.2.31", "fip": "203.0.113.31"}
        pooled = Node("v2", "workerNode2", f"{'0' * 8}-0000-4000-8000-{'0' * 12}", addresses)
        nodes = (*made.topology.nodes, pooled)
        found = topology(params, Inventory(nodes, {}), {"workerNode2"})
        self.assertEqual("203.0.113.31", found.endpoint(pooled).address)
        self.assertEqual("192.0.2.31", found.address_of(pooled))
        self.assertRegex(found.name(pooled), "^worker-")
        self.assertEqual((pooled,), found.spread)


class DnsTest(PooledClusterTest):
    def test_pods_of_cluster_dns_do_not_move_for_a_node_that_they_do_not_tolerate(self) -> None:
        self.build()
        self.world.dns = [next(iter(self.world.nodes))] * 2
        for name, node in self.world.nodes.items():
            if name != self.world.dns[0]:
                node["spec"]["taints"] = [_SHOWN]
        new = self.arrive(self.pooled(31, "10.10.0.31")).node
        scale_out.scale_out(self.request(new.vnfc_id), self.services(), self.vims)
        self.assertEqual(1, len({*self.world.dns}))
