"""Nodes run Docker: for series of Kubernetes that still can."""

from functional.nodes_scenario import NodesScenario
from tools.client import kubernetes_source
from tools.client.config import CONFIG


class NodesWithDocker(NodesScenario):
    runtime = "docker"

    def test_nodes_with_docker(self) -> None:
        if not kubernetes_source.has_dockershim():
            self.skipTest(f"Kubernetes {CONFIG.kubernetes_version} has no support for Docker")
        self.scale_and_heal_nodes()
