"""The base of scenarios in which nodes are added, removed and replaced while the cluster works."""

import re
import textwrap

from functional import guide_outputs, kubernetes
from functional.cluster_scenario import MASTER, WORKER, BalancedClusterScenario
from tools.client import wait
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote
from tools.client.poll import poll_api

_ASPECT = "worker_instance"
_REFUSAL = r"\[KV-QUORUM\] the control-plane node cannot be healed .* of the cluster are deleted"


class NodesScenario(BalancedClusterScenario):
    """Operations on the nodes of one balanced cluster with a workload."""

    def scale_out_and_in(self, vnf: Vnf) -> None:
        self.assert_completed(vnf.scale("SCALE_OUT", _ASPECT, 2))
        self.check_balanced_cluster(vnf, workers=4)
        self.assert_completed(vnf.scale("SCALE_IN", _ASPECT, 1))
        self.check_balanced_cluster(vnf, workers=3)
        # From three masters to nine, or to one.
        for kind, steps in (("SCALE_OUT", 3), ("SCALE_IN", 1)):
            self.check_scale_of_masters_refused(vnf, kind, steps)

    def heal_workers(self, vnf: Vnf, count: int) -> None:
        """The first worker is powered off; its successor gets its labels and taints."""
        (vnfc, machine), *others = self.vnfcs(vnf, WORKER)[:count]
        name = self.node_name(machine)
        taint = {"key": "lab", "value": "x", "effect": "NoSchedule"}
        self.cluster.label_and_taint(name, {"rack": "r7"}, taint)
        self.lose(machine)
        before = set(self.cluster.ready_nodes())
        self.heal(vnf, [vnfc, *(other for other, _ in others)])
        self.check_balanced_cluster(vnf, workers=3)
        new = set(self.cluster.ready_nodes()) - before
        self.assertEqual(count, len(new))
        (labelled,) = (node for node in map(self.cluster.core.read_node, new) if node.spec.taints)
        self.assertEqual("r7", labelled.metadata.labels["rack"])
        self.assertEqual(["lab"], [taint.key for taint in labelled.spec.taints])
        self.cluster.core.patch_node(
            labelled.metadata.name, {"spec": {"taints": []}}, _preload_content=False
        )

    def heal_virtual_ip_holder(self, vnf: Vnf) -> None:
        address = self.virtual_ip()
        vnfc = next(v for v, m in self.vnfcs(vnf, MASTER) if m.has_address(address))
        log(f"{vnfc} holds {address}")
        with poll_api(self.vim_before.auth_url):
            self.heal(vnf, [vnfc])
        self.check_balanced_cluster(vnf, workers=3)

    def heal_dead_leader(self, vnf: Vnf) -> None:
        """Heal the master with the leader of etcd, which is powered off."""
        _, master = self.vnfcs(vnf, MASTER)[0]
        leader = kubernetes.etcd_leader(master, self.node_name(master))
        vnfc, machine = next(
            (v, m) for v, m in self.vnfcs(vnf, MASTER) if self.node_name(m) == leader
        )
        log(f"{vnfc} has the leader of etcd")
        with poll_api(self.vim_before.auth_url):
            self.lose(machine)
            self.heal(vnf, [vnfc])
        self.check_balanced_cluster(vnf, workers=3)

    def lose(self, machine: Remote) -> None:
        machine.cut_power()

    def virtual_ip(self) -> str:
        return self.vim_before.auth_url.partition("://")[2].rpartition(":")[0]

    def check_heal_without_quorum(self, vnf: Vnf) -> None:
        (first, one), (_, other), (_, last) = self.vnfcs(vnf, MASTER)
        one.cut_power()
        other.cut_power()
        before = last.run("sudo sha256sum /etc/haproxy/haproxy.cfg /etc/keepalived/keepalived.conf")
        failed = vnf.heal({"vnfcInstanceId": [first]})
        self.assert_failed(failed, "etcd has 3 voters", "2 must be healthy and 1 are")
        refusal = re.search(_REFUSAL, failed["error"]["detail"])
        assert refusal
        guide_outputs.compare("refused", "", textwrap.fill(refusal[0], 88, break_on_hyphens=False))
        self.assertEqual(
            before,
            last.run("sudo sha256sum /etc/haproxy/haproxy.cfg /etc/keepalived/keepalived.conf"),
        )
        self.tacker.fail_vnf_instance(failed["id"])

    def heal_vnf(self, vnf: Vnf) -> None:
        self.assert_completed(vnf.heal({}))
        before = self.vim_before
        self.create_workload(vnf, workers=3)
        self.assertNotEqual(before.id, self.vim_before.id)
        self.assertEqual(before.name, self.vim_before.name)

    def check_api_without_master(self, vnf: Vnf) -> None:
        """The master that holds the virtual IP is shut down."""
        address = self.virtual_ip()
        holder = next(m for _, m in self.vnfcs(vnf, MASTER) if m.has_address(address))
        with step(f"stop {holder.address}, which holds {address}"):
            holder.run("sudo systemctl poweroff", check=False)
            holder.await_shutdown()
            wait.until(lambda: _api_answers(self.cluster), bool, 120, "the API on the virtual IP")


def _api_answers(cluster: kubernetes.Cluster) -> bool:
    try:
        return bool(cluster.core.list_node(_request_timeout=5).items)
    except Exception as error:
        log(f"API: {type(error).__name__}")
        return False
