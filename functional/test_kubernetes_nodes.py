"""Nodes of a balanced cluster are added, removed and replaced while the cluster works."""

import re
import subprocess
import sys
import textwrap
import uuid

from functional import guide_outputs, kubernetes
from functional.cluster_scenario import MASTER, WORKER, BalancedClusterScenario
from functional.packages import CNF_MANIFEST, cnf_csar
from functional.poll import poll_readiness
from functional.port_filter import PortFilter
from tools.client import wait
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step

_ASPECT = "worker_instance"
_REFUSAL = r"the control-plane node cannot be healed .* vnfcInstanceId\)"


class NodesScenario(BalancedClusterScenario):
    """Operations on the nodes of one balanced cluster with a workload."""

    def scale_out_and_in(self, vnf: Vnf) -> None:
        self.assert_completed(vnf.scale("SCALE_OUT", _ASPECT, 2))
        self.check_balanced_cluster(vnf, workers=4)
        self.assert_completed(vnf.scale("SCALE_IN", _ASPECT, 1))
        self.check_balanced_cluster(vnf, workers=3)
        self.check_masters_not_scalable(vnf)

    def check_masters_not_scalable(self, vnf: Vnf) -> None:
        """Tacker itself refuses, because of the VNFD's max_scale_level."""
        words = "can not scale_(in|out)|numberOfSteps"
        for kind in ("SCALE_OUT", "SCALE_IN"):
            with self.assertRaisesRegex(Exception, words) as caught:
                vnf.scale(kind, "master_instance", 1)
            log(f"{kind} of masters: {caught.exception}")

    def heal_workers(self, vnf: Vnf, count: int) -> None:
        """The first worker is powered off; its successor gets its labels and taints."""
        (vnfc, machine), *others = self.vnfcs(vnf, WORKER)[:count]
        name = self.node_name(machine)
        taint = {"key": "lab", "value": "x", "effect": "NoSchedule"}
        self.cluster.label_and_taint(name, {"rack": "r7"}, taint)
        machine.cut_power()
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

    def heal_first_master(self, vnf: Vnf) -> None:
        vnfc, _ = self.vnfcs(vnf, MASTER)[0]
        self.heal_master(vnf, vnfc)

    def heal_virtual_ip_holder(self, vnf: Vnf) -> None:
        address = self.virtual_ip()
        vnfc = next(v for v, m in self.vnfcs(vnf, MASTER) if m.has_address(address))
        log(f"{vnfc} holds {address}")
        self.heal_master(vnf, vnfc)

    def heal_dead_leader(self, vnf: Vnf) -> None:
        """Heal the master with the leader of etcd, which is powered off."""
        _, master = self.vnfcs(vnf, MASTER)[0]
        leader = kubernetes.etcd_leader(master, self.node_name(master))
        vnfc, machine = next(
            (v, m) for v, m in self.vnfcs(vnf, MASTER) if self.node_name(m) == leader
        )
        log(f"{vnfc} has the leader of etcd")
        machine.cut_power()
        self.heal_master(vnf, vnfc)

    def virtual_ip(self) -> str:
        return self.vim_before.auth_url.partition("://")[2].rpartition(":")[0]

    def heal_master(self, vnf: Vnf, vnfc: str) -> None:
        with poll_readiness(self.vim_before.auth_url):
            self.heal(vnf, [vnfc])
        self.check_balanced_cluster(vnf, workers=3)

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


class LifeOfABalancedCluster(NodesScenario):
    """Scale and heal a cluster, use it as a VIM, shut a master down, terminate."""

    def test_life_of_a_balanced_cluster(self) -> None:
        vnf = self.instantiate_balanced_cluster()
        self.check_guide_output("nodes", vnf, "get nodes")
        self.check_security_groups(vnf)
        self.scale_out_and_in(vnf)
        self.heal_workers(vnf, 2)
        self.heal_virtual_ip_holder(vnf)
        self.heal_dead_leader(vnf)
        self.check_heal_without_quorum(vnf)
        self.heal_vnf(vnf)

        self.check_guide_output_of_vim()
        cnf = self.check_cnf(vnf)
        self.check_api_without_master(vnf)
        self.check_terminate(vnf, cnf)

    def check_security_groups(self, vnf: Vnf) -> None:
        """Nodes reach each other as Kubernetes needs it; the registry's machine does not.

        Packets of pods are left out: ovn-trace does not know address pairs that are networks.
        """
        if not CONFIG.ovn_trace:
            log("FUNCTIONAL_OVN_TRACE is not set: security groups are not checked")
            return
        master, second = (m.address for _, m in self.vnfcs(vnf, MASTER)[:2])
        worker = self.vnfcs(vnf, WORKER)[0][1].address
        stranger = self.registry.partition(":")[0]
        virtual_ip = {"receiver": self.virtual_ip()}
        passing = PortFilter(self.cloud).passes
        with step("ask OVN what the security groups let through"):
            for source, target, packet, addresses in (
                (worker, master, "tcp.dst == 16443", virtual_ip),
                (stranger, master, "tcp.dst == 16443", virtual_ip),
                (master, second, "ip.proto == 112", {}),
                (master, second, "tcp.dst == 2379", {}),
                (master, worker, "tcp.dst == 10250", {}),
                (stranger, worker, "tcp.dst == 30080", {}),
                (stranger, master, "tcp.dst == 22", {}),
            ):
                self.assertTrue(passing(source, target, packet, **addresses), packet)
            for source, target, packet in (
                (stranger, master, "tcp.dst == 2379"),
                (stranger, worker, "tcp.dst == 10250"),
                (stranger, worker, "tcp.dst == 8080"),
                (stranger, master, "ip.proto == 112"),
                (worker, master, "tcp.dst == 2379"),
                (worker, master, "ip.proto == 112"),
            ):
                self.assertFalse(passing(source, target, packet), packet)

    def check_guide_output_of_vim(self) -> None:
        words = ["vim", "show", f"vim-{self.name}"]
        for column in ("name", "type", "status", "auth_url"):
            words += ["-c", column]
        command = [sys.executable, "-m", "openstackclient.shell", *words]
        seen = subprocess.run(command, check=True, capture_output=True, text=True)
        guide_outputs.compare("vim", f"openstack {' '.join(words)}", seen.stdout)

    def check_cnf(self, vnf: Vnf) -> Vnf:
        """Tacker deploys and removes the pods of a CNF through the VIM."""
        cnf = self.create_vnf(self.onboard_csar(cnf_csar(f"{self.registry}/busybox:1")))
        request = {
            "flavourId": "simple",
            "additionalParams": {"lcm-kubernetes-def-files": [CNF_MANIFEST]},
            "vimConnectionInfo": [
                {"id": str(uuid.uuid4()), "vimId": self.vim(vnf).id, "vimType": "kubernetes"}
            ],
        }
        self.assert_completed(cnf.instantiate(request))
        pods = [pod.metadata.name for pod in self.cluster.pods("app=cnf-web")]
        log(f"pods of the CNF: {pods}")
        self.assertEqual(2, len(pods))
        self.assert_completed(cnf.terminate())
        wait.until(lambda: not self.cluster.pods("app=cnf-web"), bool, 60, "no pods left")
        return cnf

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
