"""Label workers by the compute host and the zone that they run on."""

from collections.abc import Mapping

from mgmt_drivers.engine.phase import Change, Lanes
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl, placement
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.selection import OnLeader


class LabelNodes(OnLeader, Change[Cluster, Mapping[str, Mapping[str, str]]]):
    """In flavours that spread their servers over compute hosts."""

    title = "label nodes by compute host and zone"

    def select(self, cluster: Cluster) -> Lanes:
        return super().select(cluster) if cluster.topology.is_spread and _workers(cluster) else []

    def look(self, host: Host, cluster: Cluster) -> Mapping[str, Mapping[str, str]] | None:
        """The labels that nodes lack, by node name."""
        unknown = [str(worker.node) for worker in _workers(cluster) if not worker.node.placement]
        if unknown:
            raise MgmtDriverError(
                f"Heat does not show on which compute host these run: {', '.join(unknown)}. The "
                "VIM's user needs Nova's policy os_compute_api:os-extended-server-attributes"
            )
        nodes = kubectl.nodes(host)
        wanted = {
            cluster.name(worker): placement.labels(worker.node.placement)
            for worker in _workers(cluster)
            if worker.node.placement
        }
        lacking = {
            name: labels
            for name, labels in wanted.items()
            if not labels.items() <= nodes[name]["metadata"]["labels"].items()
        }
        return lacking or None

    def act(self, host: Host, cluster: Cluster, lacking: Mapping[str, Mapping[str, str]]) -> None:
        for name, labels in lacking.items():
            kubectl.label(host, name, labels)


def _workers(cluster: Cluster) -> list[Host]:
    return [host for host in cluster.joining if not cluster.is_control_plane(host)]
