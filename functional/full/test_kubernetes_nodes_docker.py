"""The scaling and healing of a cluster whose nodes run Docker."""

from functional import test_kubernetes_nodes


class NodesWithDocker(test_kubernetes_nodes.NodesComeAndGo):
    """The same story."""

    runtime = "docker"
