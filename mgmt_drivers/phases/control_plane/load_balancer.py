"""HAProxy and keepalived on the control-plane nodes, and the virtual IP between them."""

import logging

from mgmt_drivers.engine.phase import Change, Check, Forecast, HostPhase, Lanes, at_once
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED, Outcome
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host import interfaces
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import haproxy, keepalived, kubectl
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.topology import BALANCED_PORT
from mgmt_drivers.phases.selection import OnControlPlane, OnLeavingControlPlane

LOG = logging.getLogger(__name__)

_LIMIT = 60.0  # seconds for the API to be ready at the virtual IP


class ConfigureLoadBalancer(OnControlPlane, Change[Cluster, tuple[str, str]]):
    """Configure HAProxy and keepalived for the control-plane nodes that are to serve.

    HAProxy leaves out apiservers that are not ready.

    :param new: only on the nodes that have come, or only on the others. These must know the new
        ones before: a keepalived to which the holder of the virtual IP sends nothing takes it, too
    """

    title = "configure the load balancer"

    def __init__(self, new: bool | None = None) -> None:
        self._new = new

    def select(self, cluster: Cluster) -> Lanes:
        changes = cluster.changes_control_plane or cluster.upgrade
        if not cluster.topology.is_balanced or not changes:
            return []
        hosts = [host for lane in super().select(cluster) for host in lane]
        if self._new is not None:
            hosts = [host for host in hosts if (host in cluster.joining) == self._new]
        return at_once(hosts)

    def look(self, host: Host, cluster: Cluster) -> tuple[str, str] | None:
        """The configuration of both, where one of them has another."""
        balancer, router = _haproxy(cluster), _keepalived(host, cluster)
        is_balanced = haproxy.is_configured(host, balancer)
        if is_balanced and keepalived.is_configured(host, router):
            return None
        return balancer, router

    def act(self, host: Host, cluster: Cluster, wanted: tuple[str, str]) -> None:
        balancer, router = wanted
        haproxy.configure(host, balancer)
        keepalived.configure(host, router)


def _haproxy(cluster: Cluster) -> str:
    known = cluster.topology
    return haproxy.render([(known.name(n), known.address_of(n)) for n in cluster.control_plane])


def _keepalived(host: Host, cluster: Cluster) -> str:
    own = cluster.address(host)
    addresses = map(cluster.topology.address_of, cluster.control_plane)
    return keepalived.render(
        cluster.topology.address,
        own,
        interfaces.having(host, own),
        [address for address in addresses if address != own],
        # The same whoever else comes and goes.
        rank=cluster.topology.control_plane.index(host.node),
    )


class ReleaseVirtualIp(OnLeavingControlPlane, HostPhase[Cluster]):
    """Stop keepalived on control-plane nodes that leave, as far as they answer.

    A machine that just vanishes takes the virtual IP with it for seconds.
    """

    title = "release the virtual IP"

    def select(self, cluster: Cluster) -> Lanes:
        return super().select(cluster) if cluster.topology.is_balanced else []

    def foresee(self, host: Host, cluster: Cluster) -> Forecast:
        return Forecast(CHANGED)

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        try:
            if not keepalived.is_there(host):
                return UNCHANGED
            keepalived.stop(host)
        except MgmtDriverError as error:
            # Something may be wrong with it, for which it is to be replaced.
            LOG.warning("%s may keep the virtual IP until it is gone: %s", host.node, error)
            return UNCHANGED
        return CHANGED


class VerifyVirtualIp(Check[Cluster]):
    """See that the API is ready at the virtual IP, from the leader and from new nodes.

    Also when all has been upgraded, or control-plane nodes have left.
    """

    title = "verify the virtual IP"

    def select(self, cluster: Cluster) -> Lanes:
        is_upgraded = cluster.upgrade and cluster.topology.is_balanced
        if not cluster.changes_control_plane and not is_upgraded:
            return []
        return at_once([cluster.leader, *cluster.joining_control_plane])

    def check(self, host: Host, cluster: Cluster) -> None:
        kubectl.wait_for_api(host, cluster.topology.address, BALANCED_PORT, _LIMIT)
