"""A cluster's nodes come, go and are replaced, while it works."""

import re
import textwrap

from functional import kubernetes, poll, shown
from functional.clusters import MASTER, WORKER, BalancedClusterScenario
from functional.lcm import Vnf
from functional.report import say

_ASPECT = "worker_instance"
_REFUSAL = r"the master cannot be healed .* vnfcInstanceId\)"


class NodesComeAndGo(BalancedClusterScenario):
    """One balanced cluster with a workload is scaled and healed in every way."""

    def test_nodes_come_and_go(self) -> None:
        vnf = self.balanced_cluster()
        self.assert_completed(vnf.scale("SCALE_OUT", _ASPECT, 2))
        self.all_is_well(vnf, workers=4)
        self.assert_completed(vnf.scale("SCALE_IN", _ASPECT, 1))
        self.all_is_well(vnf, workers=3)
        self.masters_are_not_scaled(vnf)

        self.heal_of_a_worker_that_died(vnf)
        self.heal_of_masters(vnf)
        self.heal_of_two_workers(vnf)
        self.heal_without_quorum_is_refused(vnf)
        self.heal_of_everything(vnf)

    def masters_are_not_scaled(self, vnf: Vnf) -> None:
        """Tacker itself refuses, by the VNFD's max_scale_level."""
        words = "can not scale_(in|out)|numberOfSteps"
        for kind in ("SCALE_OUT", "SCALE_IN"):
            with self.assertRaisesRegex(Exception, words) as caught:
                vnf.scale(kind, "master_instance", 1)
            say(f"{kind} of masters: {caught.exception}")

    def heal_of_a_worker_that_died(self, vnf: Vnf) -> None:
        vnfc, machine = self.vnfcs(vnf, WORKER)[0]
        name = self.node_of(machine)
        taint = {"key": "lab", "value": "x", "effect": "NoSchedule"}
        self.cluster.mark(name, {"rack": "r7"}, taint)
        machine.kill()
        before = set(self.cluster.nodes())
        self.heal(vnf, [vnfc])
        self.all_is_well(vnf, workers=3)
        (new,) = set(self.cluster.nodes()) - before
        node = self.cluster.core.read_node(new)
        self.assertEqual("r7", node.metadata.labels["rack"])
        self.assertEqual(["lab"], [taint.key for taint in node.spec.taints])
        self.cluster.core.patch_node(new, {"spec": {"taints": []}}, _preload_content=False)

    def heal_of_masters(self, vnf: Vnf) -> None:
        """The first one, the holder of the virtual IP, and etcd's leader, which is dead."""
        vnfc, _ = self.vnfcs(vnf, MASTER)[0]
        self.heal_of_a_master(vnf, vnfc)
        virtual_ip = self.vim_before.auth_url.partition("://")[2].rpartition(":")[0]
        vnfc = next(v for v, m in self.vnfcs(vnf, MASTER) if m.has_address(virtual_ip))
        say(f"{vnfc} holds {virtual_ip}")
        self.heal_of_a_master(vnf, vnfc)
        _, master = self.vnfcs(vnf, MASTER)[0]
        leader = kubernetes.etcd_leader(master, self.node_of(master))
        vnfc, machine = next(
            (v, m) for v, m in self.vnfcs(vnf, MASTER) if self.node_of(m) == leader
        )
        say(f"{vnfc} leads etcd")
        machine.kill()
        self.heal_of_a_master(vnf, vnfc)

    def heal_of_a_master(self, vnf: Vnf, vnfc: str) -> None:
        with poll.readiness(self.vim_before.auth_url):
            self.heal(vnf, [vnfc])
        self.all_is_well(vnf, workers=3)

    def heal_of_two_workers(self, vnf: Vnf) -> None:
        self.heal(vnf, [vnfc for vnfc, _ in self.vnfcs(vnf, WORKER)[:2]])
        self.all_is_well(vnf, workers=3)

    def heal_without_quorum_is_refused(self, vnf: Vnf) -> None:
        (first, one), (_, other), (_, last) = self.vnfcs(vnf, MASTER)
        one.kill()
        other.kill()
        before = last.run("sudo sha256sum /etc/haproxy/haproxy.cfg /etc/keepalived/keepalived.conf")
        failed = vnf.heal({"vnfcInstanceId": [first]})
        self.assert_failed(failed, "etcd has 3 voters", "2 must be healthy and 1 are")
        told = re.search(_REFUSAL, failed["error"]["detail"])
        assert told
        shown.check("refused", "", textwrap.fill(told[0], 88, break_on_hyphens=False))
        self.assertEqual(
            before,
            last.run("sudo sha256sum /etc/haproxy/haproxy.cfg /etc/keepalived/keepalived.conf"),
        )
        self.tacker.fail_vnf_instance(failed["id"])

    def heal_of_everything(self, vnf: Vnf) -> None:
        self.assert_completed(vnf.heal({}))
        before = self.vim_before
        self.make_workload(vnf, workers=3)
        self.assertNotEqual(before.id, self.vim_before.id)
        self.assertEqual(before.name, self.vim_before.name)
