"""Drain the nodes that are to leave."""

from collections.abc import Mapping
from typing import Any

from mgmt_drivers.engine.phase import Change
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import draining, kubectl
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.selection import ForLeavingNodes

Nodes = Mapping[str, Mapping[str, Any]]  # Node objects by name


class DrainNodes(ForLeavingNodes, Change[Cluster, Nodes]):
    """Cordon the ready nodes that leave, and drain them; PodDisruptionBudgets are respected.

    A node that is not ready has nobody to stop its pods. When one cannot be drained, all are
    uncordoned but those that others had cordoned.
    """

    title = "drain nodes"

    def look(self, host: Host, cluster: Cluster) -> Nodes | None:
        """The nodes that are ready."""
        nodes = kubectl.nodes(host)
        leaving = map(cluster.topology.name, cluster.leaving)
        ready = {name: nodes[name] for name in leaving if kubectl.is_ready(nodes.get(name))}
        return ready or None

    def act(self, host: Host, cluster: Cluster, ready: Nodes) -> None:
        # What an attempt before this one cordoned is ours to uncordon, too.
        own = [name for name, node in ready.items() if not kubectl.is_cordoned_by_others(node)]
        # All before any is drained: no pod is to be moved twice.
        for name in own:
            kubectl.cordon(host, name)
        try:
            for name in ready:
                draining.drain(host, name)
        except MgmtDriverError:
            for name in own:
                draining.uncordon(host, name)
            raise
