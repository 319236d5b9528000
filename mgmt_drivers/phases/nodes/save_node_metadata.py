"""Save labels and taints of the nodes that are to be replaced."""

from collections.abc import Mapping

from mgmt_drivers.engine.phase import Change
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl, node_metadata
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.node_metadata import NodeMetadata
from mgmt_drivers.phases.selection import OnLeader


class SaveNodeMetadata(OnLeader, Change[Cluster, Mapping[str, NodeMetadata]]):
    """With the VNF instance, by VNFC, for the node that comes in the place of each."""

    title = "save labels and taints"

    def look(self, host: Host, cluster: Cluster) -> Mapping[str, NodeMetadata] | None:
        """All that is to be saved, where it differs from what is."""
        nodes = kubectl.nodes(host)
        saved = node_metadata.load(cluster.store)
        wanted = dict(saved)
        for machine in cluster.leaving:
            # One that is gone already was saved by the attempt that removed it.
            node = nodes.get(cluster.topology.name(machine))
            if node:
                found = node_metadata.of(node)
                wanted[machine.vnfc_id] = saved.get(machine.vnfc_id, found).merged_into(found)
        return wanted if wanted != saved else None

    def act(self, host: Host, cluster: Cluster, found: Mapping[str, NodeMetadata]) -> None:
        node_metadata.save(cluster.store, found)
