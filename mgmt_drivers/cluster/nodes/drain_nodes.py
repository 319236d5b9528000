"""Drain the nodes that are to leave, and uncordon those that are not any more."""

from collections.abc import Sequence

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.nodes import draining, kubectl
from mgmt_drivers.cluster.nodes.draining import Nodes
from mgmt_drivers.engine.phase import Change, NamedChange
from mgmt_drivers.machine.host import Host


class UncordonNodes(NamedChange[Cluster]):
    """Uncordon nodes that stay, and that an interrupted operation has cordoned.

    An operation whose process dies cannot uncordon nodes itself, and its retry may be about other
    nodes. Nodes that others have cordoned stay cordoned, and so do nodes on which an upgrade has
    failed.
    """

    title = "uncordon nodes"

    def look(self, host: Host, cluster: Cluster) -> Sequence[str] | None:
        leaving = [cluster.topology.name(node) for node in cluster.leaving]
        nodes = kubectl.list_nodes(host)
        ours = [n for n, node in nodes.items() if kubectl.why_cordoned(node) == kubectl.LEAVING]
        return [name for name in ours if name not in leaving] or None

    def act(self, host: Host, cluster: Cluster, names: Sequence[str]) -> None:
        for name in names:
            kubectl.uncordon(host, name)


class DrainNodes(Change[Cluster, Nodes]):
    """Cordon the ready nodes that leave, and drain them; PodDisruptionBudgets are respected.

    A node that is not ready has nobody to stop its pods.
    """

    title = "drain nodes"

    def look(self, host: Host, cluster: Cluster) -> Nodes | None:
        nodes = kubectl.list_nodes(host)
        leaving = map(cluster.topology.name, cluster.leaving)
        ready = {name: nodes[name] for name in leaving if kubectl.is_ready(nodes.get(name))}
        return ready or None

    def describe(self, ready: Nodes) -> str:
        return ", ".join(ready)

    def act(self, host: Host, cluster: Cluster, ready: Nodes) -> None:
        draining.drain(host, ready, kubectl.LEAVING, cluster.params.drain_timeout)
