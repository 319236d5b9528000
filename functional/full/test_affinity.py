"""Workers on compute hosts of their own, and pods spread over them: flavour podaffinity."""

from typing import Any

from functional import guide_outputs, kubernetes
from functional.cluster_scenario import MASTER, STRICT, WORKER
from functional.masters_scenario import MastersScenario
from functional.nodes_scenario import NodesScenario
from tools.client import stacks, wait
from tools.client.api import V2
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step

_HOST = "CIS-node"
_ZONES = ("kubernetes.io/zone", "topology.kubernetes.io/zone")
_ASPECT = "worker_instance"
# Workers that are scaled out to. A cloud with more compute hosts is not filled.
_MOST_WORKERS = 5
_NOVAS_RACE = "Exhausted all hosts"


class AffinityScenario(NodesScenario):
    """The base of scenarios whose workers run on different compute hosts.

    ``workers``: to how many there is a scale-out; ``fills_cloud``: no compute host is left then.
    """

    flavour = "podaffinity"
    image = CONFIG.prepared_image
    workers: int
    fills_cloud: bool

    def count_hosts(self, needed: int) -> None:
        """Skip the scenario where hosts are too few.

        Heat creates the new server before it deletes the old one: a host must be free for each.
        """
        hosts = self.skip_with_fewer_hosts(needed)
        self.workers = min(hosts, _MOST_WORKERS)
        self.fills_cloud = self.workers == hosts

    def check_anti_affinity(self, vnf: Vnf, workers: int) -> None:
        """Check the group's policy and members, each worker's group, host, zone and labels."""
        group = self.group_of_workers(vnf)
        vdus = {v["computeResource"]["resourceId"]: v["vduId"] for v in vnf.vnfcs()}
        servers = {
            server.id: server
            for server in stacks.servers(self.cloud, vnf.id)
            if vdus[server.id] == WORKER
        }
        self.assertEqual(workers, len(servers))
        self.assertEqual(set(servers), set(group.member_ids))
        addresses = stacks.server_addresses(self.cloud, vnf.id)
        seen = {}
        for server_id, server in servers.items():
            self.assertEqual([group.id], server.server_groups)
            labels = self.node_labels(self.cluster.node_name_at(addresses[server_id]))
            self.assertEqual(server.compute_host, labels[_HOST])
            zones = {labels[key] for key in _ZONES}
            self.assertEqual({server.availability_zone}, zones)
            seen[labels[_HOST]] = server_id
        self.assertEqual(workers, len(seen))
        log(f"policy {group.policy}, members and workers by host: {seen}")

    def scale_workers_out(self, vnf: Vnf) -> None:
        """Go from two workers to ``workers``: in one step, or as the guide says after Nova's race.

        Nova places servers that are made at the same time each without the others. Where two come
        to one host, both can be sent on, and meet again, until none is left for one of them.
        """
        steps = self.workers - 2
        occurrence = vnf.scale("SCALE_OUT", _ASPECT, steps)
        if _NOVAS_RACE in str(stacks.failure_reasons(self.cloud, vnf.id)):
            log("servers took each other's hosts: scale out one by one")
            self.assertEqual("ROLLED_BACK", vnf.rollback(occurrence)["operationState"])
            for _ in range(steps):
                self.assert_completed(vnf.scale("SCALE_OUT", _ASPECT, 1))
        else:
            self.assert_completed(occurrence)
        self.check_anti_affinity(vnf, self.workers)

    def heal_worker(self, vnf: Vnf) -> None:
        """The new worker comes to a host of its own, too."""
        vnfc, _ = self.vnfcs(vnf, WORKER)[0]
        before = self.group_members(vnf)
        self.heal(vnf, [vnfc])
        self.check_anti_affinity(vnf, workers=2)
        self.assertEqual(1, len(before & self.group_members(vnf)))

    def node_labels(self, node: str) -> dict[str, str]:
        found: dict[str, str] = self.cluster.core.read_node(node).metadata.labels
        return found

    def group_members(self, vnf: Vnf) -> set[str]:
        return set(self.group_of_workers(vnf).member_ids)

    def group_of_workers(self, vnf: Vnf) -> Any:
        (server_id, *_) = (
            vnfc["computeResource"]["resourceId"]
            for vnfc in vnf.vnfcs()
            if vnfc["vduId"] == WORKER
        )
        groups = {group.id: group for group in stacks.server_groups(self.cloud, vnf.id)}
        policies = sorted(group.policy for group in groups.values())
        self.assertEqual(sorted([STRICT, self.master_policy]), policies)
        (group_id,) = self.cloud.compute.get_server(server_id).server_groups
        self.assertEqual(STRICT, groups[group_id].policy)
        return groups[group_id]


class AffinityThroughV1(AffinityScenario):
    """The cloud is filled: nothing more can be made, or healed."""

    def test_affinity_in_a_full_cloud(self) -> None:
        self.count_hosts(3)
        vnf = self.instantiate_balanced_cluster()
        self.check_anti_affinity(vnf, workers=2)
        columns = ",".join((_HOST, *_ZONES))
        self.check_guide_output("placement", vnf, f"get nodes --label-columns {columns}")
        self.check_guide_output_of_group(vnf)
        self.check_labels_after_kubelet_restart(vnf)

        # No heal before: Tacker's rollback would return to the workers at the time of the heal.
        self.scale_workers_out(vnf)
        self.check_pod_anti_affinity()
        if self.fills_cloud:
            self.check_scale_out_without_free_host(vnf)
            self.check_heal_without_free_host(vnf)
        self.check_terminate(vnf)

    def check_guide_output_of_group(self, vnf: Vnf) -> None:
        group = self.group_of_workers(vnf)
        words = ["stack", "resource", "show", f"vnflcm_{vnf.id}", "srvgroup"]
        words += ["-c", "physical_resource_id"]
        guide_outputs.compare_openstack("group_resource", words, {vnf.id: "VNF-INSTANCE-ID"})
        words = ["server", "group", "show", group.id, "-c", "policy", "-c", "members"]
        guide_outputs.compare_openstack("group", words, {group.id: "SERVER-GROUP-ID"})
        server = group.member_ids[0]
        words = ["server", "show", server, "-c", "OS-EXT-SRV-ATTR:host", "-c", "server_groups"]
        guide_outputs.compare_openstack("group_member", words, {server: "SERVER-ID"})

    def check_labels_after_kubelet_restart(self, vnf: Vnf) -> None:
        _, machine = self.vnfcs(vnf, WORKER)[0]
        node = self.node_name(machine)
        before = self.node_labels(node)
        with step("restart a kubelet"):
            machine.run("sudo systemctl restart kubelet")
            ask = "curl --silent --fail localhost:10248/healthz"
            wait.until(lambda: machine.run(ask, check=False), lambda s: s == "ok", 60, "kubelet")
        self.assertEqual(before, self.node_labels(node))

    def check_pod_anti_affinity(self) -> None:
        """Of one pod more than there are hosts one stays pending; the others run apart."""
        image, wanted = f"{self.registry}/busybox:1", self.workers + 1
        deployment = kubernetes.deployment("apart", image, wanted, spread=False)
        term = {"labelSelector": {"matchLabels": {"app": "apart"}}, "topologyKey": _HOST}
        rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        deployment["spec"]["template"]["spec"]["affinity"] = rule
        kubernetes.create(self.cluster.apps.create_namespaced_deployment, deployment)
        wait.until(self.hosts_of_pods, lambda seen: len(seen) == self.workers, 60, "pods apart")
        pods = self.cluster.pods("app=apart")
        pending = [pod for pod in pods if not pod.spec.node_name]
        log(f"pods by host: {self.hosts_of_pods()}, {len(pending)} of {len(pods)} pending")
        self.assertEqual((wanted, 1), (len(pods), len(pending)))
        kubernetes.delete(self.cluster.apps.delete_namespaced_deployment, "apart")

    def hosts_of_pods(self) -> set[str]:
        nodes = [pod.spec.node_name for pod in self.cluster.pods("app=apart")]
        return {self.node_labels(node)[_HOST] for node in nodes if node}

    def check_scale_out_without_free_host(self, vnf: Vnf) -> None:
        failed: dict[str, Any] = vnf.scale("SCALE_OUT", _ASPECT, 1)
        self.assert_failed(failed, "failed")
        self.check_reasons(vnf)
        self.assertEqual("ROLLED_BACK", vnf.rollback(failed)["operationState"])
        self.check_anti_affinity(vnf, self.workers)

    def check_reasons(self, vnf: Vnf) -> None:
        """In the v1 API only Heat has the reason."""
        reasons = stacks.failure_reasons(self.cloud, vnf.id)
        log(f"Heat: {reasons}")
        self.assertIn("No valid host was found", str(reasons))

    def check_heal_without_free_host(self, vnf: Vnf) -> None:
        """Every attempt fails with the reason."""
        vnfc, _ = self.vnfcs(vnf, WORKER)[0]
        failed = vnf.heal({"vnfcInstanceId": [vnfc]})
        self.assert_failed(failed, "Heat could not create workerNode", "stack failures list")
        self.assert_failed(vnf.retry(failed), "Heat could not create workerNode")
        self.check_reasons(vnf)
        self.tacker.fail_vnf_instance(failed["id"])


class AffinityThroughV2(AffinityScenario, MastersScenario):
    """Workers stay apart, and so do the masters, of which there are three, five and three."""

    api = V2()
    master_policy = STRICT
    longest_outage = 30  # beside another cluster; the group series measures with nothing beside

    def test_affinity_through_v2(self) -> None:
        self.count_hosts(5)
        vnf = self.instantiate_balanced_cluster()
        self.check_anti_affinity(vnf, workers=2)
        self.scale_masters_out_and_in(vnf, workers=2)
        # Nothing that comes or goes later needs the masters that left.
        self.scale_workers_out(vnf)
        self.assert_completed(vnf.scale("SCALE_IN", _ASPECT, self.workers - 2))
        self.check_anti_affinity(vnf, workers=2)
        self.heal_worker(vnf)
        self.heal(vnf, [self.vnfcs(vnf, MASTER)[0][0]])
        self.check_balanced_cluster(vnf, workers=2)
        # Without ``all`` each new master needs one more host. The new stack keeps the policy.
        self.assert_completed(vnf.heal({"additionalParams": {"all": True}}))
        self.create_workload(vnf, workers=2)
        self.check_balanced_cluster(vnf, workers=2)
        self.check_anti_affinity(vnf, workers=2)
        self.check_terminate(vnf)

    def check_five_masters(self, vnf: Vnf, workers: int) -> None:
        """Without hosts for more the scale-out fails with Nova's reason, and is rolled back."""
        super().check_five_masters(vnf, workers)
        if self.fills_cloud:
            failed = super().try_scale_of_masters(vnf, "SCALE_OUT")
            self.assert_failed(failed, "No valid host was found")
            self.assertEqual("ROLLED_BACK", vnf.rollback(failed)["operationState"])
            super().check_five_masters(vnf, workers)

    def try_scale_of_masters(self, vnf: Vnf, kind: str) -> dict[str, Any]:
        """Try again after Nova's race for the last hosts: see scale_workers_out."""
        for _ in range(2):
            occurrence = super().try_scale_of_masters(vnf, kind)
            if _NOVAS_RACE not in str(stacks.failure_reasons(self.cloud, vnf.id)):
                return occurrence
            log("masters took each other's hosts: roll back, and scale out again")
            self.assertEqual("ROLLED_BACK", vnf.rollback(occurrence)["operationState"])
        return super().try_scale_of_masters(vnf, kind)
