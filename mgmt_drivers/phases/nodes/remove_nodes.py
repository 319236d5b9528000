"""Remove nodes from the cluster."""

import re
from collections.abc import Sequence

from mgmt_drivers.engine.phase import Change
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.selection import ForLeavingNodes, OnLeader

# As Topology.name gives it: other nodes may have been joined by hand.
_WORKER = re.compile(r"worker-[0-9a-f]{12}")


class RemoveNodes(ForLeavingNodes, Change[Cluster, Sequence[str]]):
    """Remove the nodes that leave from the cluster; the machines need not be alive."""

    title = "remove nodes"

    def look(self, host: Host, cluster: Cluster) -> Sequence[str] | None:
        """The names of those that the cluster has."""
        nodes = kubectl.nodes(host)
        return [n for n in map(cluster.topology.name, cluster.leaving) if n in nodes] or None

    def tell(self, names: Sequence[str]) -> str:
        return ", ".join(names)

    def act(self, host: Host, cluster: Cluster, names: Sequence[str]) -> None:
        kubectl.delete(host, "node", *names)


class RemoveOrphanedNodes(OnLeader, Change[Cluster, Sequence[str]]):
    """Remove orphaned nodes: workers whose machines are not the VNF's any more."""

    title = "remove orphaned nodes"
    names = _WORKER  # of nodes that may be ours

    def look(self, host: Host, cluster: Cluster) -> Sequence[str] | None:
        """The names of orphaned nodes."""
        own = set(map(cluster.topology.name, cluster.topology.nodes))
        found = filter(self.names.fullmatch, kubectl.nodes(host))
        return [name for name in found if name not in own] or None

    def tell(self, names: Sequence[str]) -> str:
        return ", ".join(names)

    def act(self, host: Host, cluster: Cluster, names: Sequence[str]) -> None:
        kubectl.delete(host, "node", *names)
