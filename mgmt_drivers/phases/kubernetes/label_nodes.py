"""Label workers by the compute host and the zone that they run on."""

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.inventory import Node
from mgmt_drivers.kube import kubectl, placement
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase


class PlacementUnknown(MgmtDriverError):
    """Nova does not tell where servers run."""


class LabelNodes(Phase[Cluster]):
    """In flavours that spread their servers over compute hosts."""

    title = "label the nodes by their hosts"

    def needed(self, host: Host, context: Cluster) -> bool:
        if host is not context.lead or not context.topology.spread:
            return False
        unknown = [str(node) for node in _workers(context) if not node.placement]
        if unknown:
            raise PlacementUnknown(
                f"Heat does not show on which compute host these run: {', '.join(unknown)}. The "
                "VIM's user needs Nova's policy os_compute_api:os-extended-server-attributes"
            )
        return bool(_wanted(context))

    def apply(self, host: Host, context: Cluster) -> None:
        for name, labels in _wanted(context).items():
            kubectl.label(host, name, labels)


def _wanted(cluster: Cluster) -> dict[str, dict[str, str]]:
    """Labels of the workers that join, by node name."""
    return {
        cluster.name(node): placement.labels(node.placement)
        for node in _workers(cluster)
        if node.placement
    }


def _workers(cluster: Cluster) -> list[Node]:
    return [node for node in cluster.joining if not cluster.is_master(node)]
