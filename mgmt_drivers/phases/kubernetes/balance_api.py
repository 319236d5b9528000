"""Put HAProxy and keepalived on each master, in front of all apiservers."""

from mgmt_drivers.host import packages
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import haproxy, keepalived
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase


class BalanceApi(Phase[Cluster]):
    """For clusters with a virtual IP. HAProxy leaves out masters that are not ready."""

    title = "balance the API"

    def needed(self, host: Host, context: Cluster) -> bool:
        if not context.topology.virtual or not context.changes_masters:
            return False
        if host.node not in context.masters:
            return False
        return not (
            haproxy.is_configured(host, _haproxy(context))
            and keepalived.is_configured(host, _keepalived(host, context))
        )

    def apply(self, host: Host, context: Cluster) -> None:
        packages.install(host, (haproxy.PACKAGE, keepalived.PACKAGE))
        haproxy.configure(host, _haproxy(context))
        keepalived.configure(host, _keepalived(host, context))


def _haproxy(cluster: Cluster) -> str:
    return haproxy.render([(cluster.name(m), cluster.address(m)) for m in cluster.masters])


def _keepalived(host: Host, cluster: Cluster) -> str:
    own = cluster.address(host.node)
    router = keepalived.Router(
        address=own,
        interface=keepalived.interface_of(host, own),
        peers=[cluster.address(node) for node in cluster.masters if node != host.node],
        # The same whoever else comes and goes.
        rank=cluster.topology.masters.index(host.node),
    )
    return keepalived.render(router, cluster.topology.address)
