"""Nodes run Docker, with the series of Kubernetes that the specifications name."""

from functional.nodes_scenario import NodesScenario
from tools.client.config import CONFIG


class NodesWithDocker(NodesScenario):
    runtime = "docker"
    kubernetes_version = "1.20"
    image = CONFIG.older_image
    options = {"addons": None}  # the agent of network policies is for today's series

    def test_nodes_with_docker(self) -> None:
        if not CONFIG.kubernetes_mirror:
            self.skipTest(
                "the Kubernetes project has no packages of 1.20 any more: "
                "FUNCTIONAL_KUBERNETES_MIRROR must name somebody's who has"
            )
        vnf = self.instantiate_balanced_cluster()
        self.scale_out_and_in(vnf)
        self.heal_workers(vnf, 1)
        self.heal_dead_leader(vnf)
        self.heal_vnf(vnf)
        self.check_terminate(vnf)
