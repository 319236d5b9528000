"""Nodes are scaled and healed in every way, each way in an operation of its own."""

from functional.test_kubernetes_nodes import NodesScenario
from tools.client import kubernetes_source
from tools.client.api import V2
from tools.client.config import CONFIG


class EveryNode(NodesScenario):
    def scale_and_heal_nodes(self) -> None:
        vnf = self.instantiate_balanced_cluster()
        self.scale_out_and_in(vnf)
        self.heal_workers(vnf, 1)
        self.heal_first_master(vnf)
        self.heal_virtual_ip_holder(vnf)
        self.heal_dead_leader(vnf)
        self.heal_workers(vnf, 2)
        self.check_heal_without_quorum(vnf)
        self.heal_vnf(vnf)


class NodesWithDocker(EveryNode):
    runtime = "docker"

    def test_nodes_with_docker(self) -> None:
        if not kubernetes_source.has_dockershim():
            self.skipTest(f"Kubernetes {CONFIG.kubernetes_version} has no support for Docker")
        self.scale_and_heal_nodes()


class NodesThroughV2(EveryNode):
    """The runtime is containerd."""

    api = V2()

    def test_nodes_through_v2(self) -> None:
        self.scale_and_heal_nodes()
