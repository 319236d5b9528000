"""A balanced cluster's nodes come, go and are replaced, while it works."""

import re
import subprocess
import sys
import textwrap
import uuid

from functional import guide_outputs, kubernetes, poll
from functional.clusters import MASTER, WORKER, BalancedClusterScenario
from functional.packages import CNF_MANIFEST, cnf_csar
from tools.client import wait
from tools.client.lcm import Vnf
from tools.client.log import say, step

_ASPECT = "worker_instance"
_REFUSAL = r"the master cannot be healed .* vnfcInstanceId\)"


class NodesScenario(BalancedClusterScenario):
    """What befalls the nodes of one balanced cluster with a workload."""

    def scale_out_and_in(self, vnf: Vnf) -> None:
        self.assert_completed(vnf.scale("SCALE_OUT", _ASPECT, 2))
        self.all_is_well(vnf, workers=4)
        self.assert_completed(vnf.scale("SCALE_IN", _ASPECT, 1))
        self.all_is_well(vnf, workers=3)
        self.masters_are_not_scaled(vnf)

    def masters_are_not_scaled(self, vnf: Vnf) -> None:
        """Tacker itself refuses, by the VNFD's max_scale_level."""
        words = "can not scale_(in|out)|numberOfSteps"
        for kind in ("SCALE_OUT", "SCALE_IN"):
            with self.assertRaisesRegex(Exception, words) as caught:
                vnf.scale(kind, "master_instance", 1)
            say(f"{kind} of masters: {caught.exception}")

    def heal_of_workers(self, vnf: Vnf, count: int) -> None:
        """The first of them has died; its labels and taints come back."""
        (vnfc, machine), *others = self.vnfcs(vnf, WORKER)[:count]
        name = self.node_of(machine)
        taint = {"key": "lab", "value": "x", "effect": "NoSchedule"}
        self.cluster.mark(name, {"rack": "r7"}, taint)
        machine.kill()
        before = set(self.cluster.nodes())
        self.heal(vnf, [vnfc, *(other for other, _ in others)])
        self.all_is_well(vnf, workers=3)
        new = set(self.cluster.nodes()) - before
        self.assertEqual(count, len(new))
        (marked,) = (node for node in map(self.cluster.core.read_node, new) if node.spec.taints)
        self.assertEqual("r7", marked.metadata.labels["rack"])
        self.assertEqual(["lab"], [taint.key for taint in marked.spec.taints])
        self.cluster.core.patch_node(
            marked.metadata.name, {"spec": {"taints": []}}, _preload_content=False
        )

    def heal_of_the_first_master(self, vnf: Vnf) -> None:
        vnfc, _ = self.vnfcs(vnf, MASTER)[0]
        self.heal_of_a_master(vnf, vnfc)

    def heal_of_the_holder_of_the_virtual_ip(self, vnf: Vnf) -> None:
        address = self.virtual_ip()
        vnfc = next(v for v, m in self.vnfcs(vnf, MASTER) if m.has_address(address))
        say(f"{vnfc} holds {address}")
        self.heal_of_a_master(vnf, vnfc)

    def heal_of_the_leader_that_died(self, vnf: Vnf) -> None:
        """The master whose etcd leads the others."""
        _, master = self.vnfcs(vnf, MASTER)[0]
        leader = kubernetes.etcd_leader(master, self.node_of(master))
        vnfc, machine = next(
            (v, m) for v, m in self.vnfcs(vnf, MASTER) if self.node_of(m) == leader
        )
        say(f"{vnfc} leads etcd")
        machine.kill()
        self.heal_of_a_master(vnf, vnfc)

    def virtual_ip(self) -> str:
        return self.vim_before.auth_url.partition("://")[2].rpartition(":")[0]

    def heal_of_a_master(self, vnf: Vnf, vnfc: str) -> None:
        with poll.readiness(self.vim_before.auth_url):
            self.heal(vnf, [vnfc])
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
        guide_outputs.check("refused", "", textwrap.fill(told[0], 88, break_on_hyphens=False))
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


class LifeOfABalancedCluster(NodesScenario):
    """It is scaled, healed, used as a VIM, loses a master for good, and is terminated."""

    def test_life_of_a_balanced_cluster(self) -> None:
        vnf = self.balanced_cluster()
        self.guide_shows("nodes", vnf, "get nodes")
        self.scale_out_and_in(vnf)
        self.heal_of_workers(vnf, 2)
        self.heal_of_the_holder_of_the_virtual_ip(vnf)
        self.heal_of_the_leader_that_died(vnf)
        self.heal_without_quorum_is_refused(vnf)
        self.heal_of_everything(vnf)

        self.guide_shows_the_vim()
        cnf = self.cnf_lives_on_it(vnf)
        self.api_survives_a_master(vnf)
        self.ends(vnf, cnf)

    def guide_shows_the_vim(self) -> None:
        words = ["vim", "show", f"vim-{self.name}"]
        for column in ("name", "type", "status", "auth_url"):
            words += ["-c", column]
        command = [sys.executable, "-m", "openstackclient.shell", *words]
        seen = subprocess.run(command, check=True, capture_output=True, text=True)
        guide_outputs.check("vim", f"openstack {' '.join(words)}", seen.stdout)

    def cnf_lives_on_it(self, vnf: Vnf) -> Vnf:
        """Tacker deploys pods through the VIM that it was given, and takes them away."""
        cnf = self.vnf(self.package(cnf_csar(f"{self.images}/busybox:1")))
        request = {
            "flavourId": "simple",
            "additionalParams": {"lcm-kubernetes-def-files": [CNF_MANIFEST]},
            "vimConnectionInfo": [
                {"id": str(uuid.uuid4()), "vimId": self.vim(vnf).id, "vimType": "kubernetes"}
            ],
        }
        self.assert_completed(cnf.instantiate(request))
        pods = [pod.metadata.name for pod in self.cluster.pods("app=cnf-web")]
        say(f"pods of the CNF: {pods}")
        self.assertEqual(2, len(pods))
        self.assert_completed(cnf.terminate())
        wait.until(lambda: not self.cluster.pods("app=cnf-web"), bool, 60, "no pods left")
        return cnf

    def api_survives_a_master(self, vnf: Vnf) -> None:
        """The master that holds the virtual IP is shut down."""
        address = self.virtual_ip()
        holder = next(m for _, m in self.vnfcs(vnf, MASTER) if m.has_address(address))
        with step(f"stop {holder.address}, which holds {address}"):
            holder.run("sudo systemctl poweroff", check=False)
            holder.await_end()
            wait.until(lambda: _asks(self.cluster), bool, 120, "the API on the virtual IP")


def _asks(cluster: kubernetes.Cluster) -> bool:
    try:
        return bool(cluster.core.list_node(_request_timeout=5).items)
    except Exception as error:
        say(f"API: {type(error).__name__}")
        return False
