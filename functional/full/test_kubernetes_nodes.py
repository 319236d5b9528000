"""Nodes are scaled and healed in every way, each in an operation of its own."""

from functional.test_kubernetes_nodes import NodesScenario
from tools.client.api import V2


class EveryNode(NodesScenario):
    def nodes_come_and_go(self) -> None:
        vnf = self.balanced_cluster()
        self.scale_out_and_in(vnf)
        self.heal_of_workers(vnf, 1)
        self.heal_of_the_first_master(vnf)
        self.heal_of_the_holder_of_the_virtual_ip(vnf)
        self.heal_of_the_leader_that_died(vnf)
        self.heal_of_workers(vnf, 2)
        self.heal_without_quorum_is_refused(vnf)
        self.heal_of_everything(vnf)


class NodesWithDocker(EveryNode):
    runtime = "docker"

    def test_nodes_with_docker(self) -> None:
        self.nodes_come_and_go()


class NodesThroughV2(EveryNode):
    """The runtime is containerd."""

    api = V2()

    def test_nodes_through_v2(self) -> None:
        self.nodes_come_and_go()
