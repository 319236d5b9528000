"""Workers on compute hosts of their own, and pods spread over them: flavour podaffinity."""

from typing import Any

from functional import kubernetes, shared
from functional.clusters import WORKER, ClusterScenario
from tools.client import stacks, wait
from tools.client.lcm import Vnf
from tools.client.log import say, step

_HOST = "CIS-node"
_ZONES = ("kubernetes.io/zone", "topology.kubernetes.io/zone")
ASPECT = "worker_instance"


class AffinityScenario(ClusterScenario):
    """What scenarios with workers on hosts of their own have in common."""

    images: str

    def workers_are_apart(self, vnf: Vnf, workers: int) -> None:
        """Policy, members, each worker's group, and the labels with their values."""
        group = stacks.of_type(self.cloud, vnf.id, "OS::Nova::ServerGroup")[0]
        self.assertEqual("anti-affinity", group["policy"])
        vdus = {v["computeResource"]["resourceId"]: v["vduId"] for v in vnf.vnfcs()}
        servers = {
            server["id"]: server
            for server in stacks.of_type(self.cloud, vnf.id, "OS::Nova::Server")
            if vdus[server["id"]] == WORKER
        }
        self.assertEqual(workers, len(servers))
        self.assertEqual(set(servers), set(group["members"]))
        addresses = stacks.server_addresses(self.cloud, vnf.id)
        seen = {}
        for server_id, server in servers.items():
            self.assertEqual([group["id"]], server["server_groups"])
            labels = self.labels(self.cluster.node_at(addresses[server_id]))
            self.assertEqual(server["OS-EXT-SRV-ATTR:host"], labels[_HOST])
            zones = {labels[key] for key in _ZONES}
            self.assertEqual({server["OS-EXT-AZ:availability_zone"]}, zones)
            seen[labels[_HOST]] = server_id
        self.assertEqual(workers, len(seen))
        say(f"policy {group['policy']}, members and workers by host: {seen}")

    def labels(self, node: str) -> dict[str, str]:
        found: dict[str, str] = self.cluster.core.read_node(node).metadata.labels
        return found

    def members(self, vnf: Vnf) -> set[str]:
        return set(stacks.of_type(self.cloud, vnf.id, "OS::Nova::ServerGroup")[0]["members"])


class HardwareAwareAffinity(AffinityScenario):
    """The confirmation points of the user guide, after everything that moves workers."""

    def test_hardware_aware_affinity(self) -> None:
        self.images = shared.registry()
        vnf = self.vnf(self.package_of())
        self.assert_completed(vnf.instantiate(self.request("podaffinity", self.images)))
        self.cluster = self.cluster_works(vnf, self.images, masters=3, workers=2)
        self.workers_are_apart(vnf, workers=2)
        self.labels_outlive_kubelet(vnf)

        self.assert_completed(vnf.scale("SCALE_OUT", ASPECT, 2))
        self.workers_are_apart(vnf, workers=4)
        columns = ",".join((_HOST, *_ZONES))
        self.guide_shows("placement", vnf, f"get nodes --label-columns {columns}")
        self.pods_are_apart()
        self.no_worker_without_a_host(vnf)

        # Heat makes the new server before it deletes the old one: for which a host must be free.
        self.assert_completed(vnf.scale("SCALE_IN", ASPECT, 2))
        self.workers_are_apart(vnf, workers=2)
        vnfc, _ = self.vnfcs(vnf, WORKER)[0]
        before = self.members(vnf)
        self.assert_completed(vnf.heal({"vnfcInstanceId": [vnfc]}))
        self.workers_are_apart(vnf, workers=2)
        self.assertEqual(1, len(before & self.members(vnf)))

        if self.heals_the_whole:
            self.assert_completed(vnf.heal({}))
            self.cluster = self.cluster_works(vnf, self.images, masters=3, workers=2)
            self.workers_are_apart(vnf, workers=2)

    def labels_outlive_kubelet(self, vnf: Vnf) -> None:
        _, machine = self.vnfcs(vnf, WORKER)[0]
        node = self.node_of(machine)
        before = self.labels(node)
        with step("restart a kubelet"):
            machine.run("sudo systemctl restart kubelet")
            asks = "curl --silent --fail localhost:10248/healthz"
            wait.until(lambda: machine.run(asks, check=False), lambda s: s == "ok", 60, "kubelet")
        self.assertEqual(before, self.labels(node))

    def pods_are_apart(self) -> None:
        """As many pods as there are hosts run, each on its own; one more finds no place."""
        deployment = kubernetes.deployment("apart", f"{self.images}/busybox:1", 5, spread=False)
        term = {"labelSelector": {"matchLabels": {"app": "apart"}}, "topologyKey": _HOST}
        rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        deployment["spec"]["template"]["spec"]["affinity"] = rule
        self.cluster.apps.create_namespaced_deployment("default", deployment)
        wait.until(self.hosts_of_pods, lambda seen: len(seen) == 4, 60, "pods on four hosts")
        pods = self.cluster.pods("app=apart")
        waiting = [pod for pod in pods if not pod.spec.node_name]
        say(f"pods by host: {self.hosts_of_pods()}, {len(waiting)} of {len(pods)} without a place")
        self.assertEqual((5, 1), (len(pods), len(waiting)))
        self.cluster.apps.delete_namespaced_deployment("apart", "default", _preload_content=False)

    def hosts_of_pods(self) -> set[str]:
        nodes = [pod.spec.node_name for pod in self.cluster.pods("app=apart")]
        return {self.labels(node)[_HOST] for node in nodes if node}

    def no_worker_without_a_host(self, vnf: Vnf) -> None:
        failed: dict[str, Any] = vnf.scale("SCALE_OUT", ASPECT, 1)
        self.assert_failed(failed, "failed")
        # Tacker's v1 API leaves the reason in Heat.
        reasons = stacks.failures(self.cloud, vnf.id)
        say(f"Heat: {reasons}")
        self.assertIn("No valid host was found", str(reasons))
        self.assertEqual("ROLLED_BACK", vnf.rollback(failed)["operationState"])
        self.workers_are_apart(vnf, workers=4)
