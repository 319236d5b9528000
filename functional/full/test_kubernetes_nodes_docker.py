"""The scaling and healing of a cluster whose nodes run Docker."""

from functional.test_kubernetes_nodes import NodesScenario


class NodesWithDocker(NodesScenario):
    runtime = "docker"

    def test_nodes_with_docker(self) -> None:
        self.nodes_come_and_go()
