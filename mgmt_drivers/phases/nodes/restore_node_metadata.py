"""Give the nodes that came in the place of others their labels and taints."""

from collections.abc import Mapping

from mgmt_drivers.engine.phase import Change, Lanes
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl, node_metadata
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.node_metadata import NodeMetadata
from mgmt_drivers.phases.selection import OnLeader


class RestoreNodeMetadata(OnLeader, Change[Cluster, Mapping[str, NodeMetadata]]):
    """What the new node has of itself, such as its host's name, stays as it is."""

    title = "restore labels and taints"

    def select(self, cluster: Cluster) -> Lanes:
        saved = node_metadata.load(cluster.store)
        joined = {host.node.vnfc_id for host in cluster.joining}
        return super().select(cluster) if joined & set(saved) else []

    def look(self, host: Host, cluster: Cluster) -> Mapping[str, NodeMetadata] | None:
        """What each node lacks, by node name."""
        nodes = kubectl.nodes(host)
        saved = node_metadata.load(cluster.store)
        names = {joined.node.vnfc_id: cluster.name(joined) for joined in cluster.joining}
        lacking = {
            name: saved[vnfc].lacking_on(nodes[name])
            for vnfc, name in names.items()
            if vnfc in saved
        }
        lacking = {name: found for name, found in lacking.items() if found.labels or found.taints}
        return lacking or None

    def act(self, host: Host, cluster: Cluster, lacking: Mapping[str, NodeMetadata]) -> None:
        for name, found in lacking.items():
            if found.labels:
                kubectl.label(host, name, found.labels)
            for taint in found.taints:
                kubectl.taint(host, name, taint)
