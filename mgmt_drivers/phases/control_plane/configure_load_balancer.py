"""Configure HAProxy and keepalived on the control-plane nodes, in front of all apiservers."""

from dataclasses import dataclass

from mgmt_drivers.engine.phase import Change, Lanes
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import haproxy, keepalived
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.selection import OnControlPlane


@dataclass(frozen=True)
class Configuration:
    """The text of both configuration files."""

    haproxy: str
    keepalived: str


class ConfigureLoadBalancer(OnControlPlane, Change[Cluster, Configuration]):
    """In clusters with a virtual IP. HAProxy leaves out apiservers that are not ready.

    In a heal the nodes that serve already are told one after another of the node that leaves
    or has come: the API is reachable meanwhile.
    """

    title = "configure the load balancer"

    def select(self, cluster: Cluster) -> Lanes:
        is_concerned = cluster.topology.is_balanced and cluster.changes_control_plane
        return super().select(cluster) if is_concerned else []

    def look(self, host: Host, cluster: Cluster) -> Configuration | None:
        wanted = Configuration(_haproxy(cluster), _keepalived(host, cluster))
        is_configured = haproxy.is_configured(host, wanted.haproxy) and keepalived.is_configured(
            host, wanted.keepalived
        )
        return None if is_configured else wanted

    def act(self, host: Host, cluster: Cluster, wanted: Configuration) -> None:
        haproxy.configure(host, wanted.haproxy)
        keepalived.configure(host, wanted.keepalived)


def _haproxy(cluster: Cluster) -> str:
    known = cluster.topology
    return haproxy.render([(known.name(n), known.address_of(n)) for n in cluster.control_plane])


def _keepalived(host: Host, cluster: Cluster) -> str:
    own = cluster.address(host)
    addresses = map(cluster.topology.address_of, cluster.control_plane)
    router = keepalived.Router(
        address=own,
        interface=keepalived.interface_of(host, own),
        peers=[address for address in addresses if address != own],
        # The same whoever else comes and goes.
        rank=cluster.topology.control_plane.index(host.node),
    )
    return keepalived.render(router, cluster.topology.address)
