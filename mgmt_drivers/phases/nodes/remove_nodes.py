"""Remove the nodes that leave from the cluster."""

from collections.abc import Sequence

from mgmt_drivers.engine.phase import Change, Lanes
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.selection import OnLeader


class RemoveNodes(OnLeader, Change[Cluster, Sequence[str]]):
    """The machines themselves need not be alive."""

    title = "remove nodes"

    def select(self, cluster: Cluster) -> Lanes:
        return super().select(cluster) if cluster.leaving else []

    def look(self, host: Host, cluster: Cluster) -> Sequence[str] | None:
        """The names of those that the cluster has."""
        nodes = kubectl.nodes(host)
        return [n for n in map(cluster.topology.name, cluster.leaving) if n in nodes] or None

    def act(self, host: Host, cluster: Cluster, names: Sequence[str]) -> None:
        kubectl.delete(host, "node", *names)
