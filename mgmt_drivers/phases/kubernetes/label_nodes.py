"""Label workers by the compute host and the zone that they run on."""

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl, placement
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase


class LabelNodes(Phase[Cluster]):
    """In flavours that spread their servers over compute hosts."""

    title = "label the nodes by their hosts"

    def needed(self, host: Host, context: Cluster) -> bool:
        return host is context.lead and bool(_wanted(context))

    def apply(self, host: Host, context: Cluster) -> None:
        for name, labels in _wanted(context).items():
            kubectl.label(host, name, labels)


def _wanted(cluster: Cluster) -> dict[str, dict[str, str]]:
    """Labels of the workers that join, by node name."""
    return {
        cluster.name(node): placement.labels(node.placement)
        for node in cluster.joining
        if node.placement and not cluster.is_master(node)
    }
