"""HAProxy and keepalived on the control-plane nodes, and the virtual IP between them."""

import logging

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.load_balancer import haproxy, keepalived
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.topology import BALANCED_PORT
from mgmt_drivers.engine.phase import Change, Check, HostPhase, Prediction
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED, Outcome
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.machine import interfaces, units
from mgmt_drivers.machine.host import Host

LOG = logging.getLogger(__name__)

_LIMIT = 60.0  # seconds for the API to be ready at the virtual IP


class ConfigureLoadBalancer(Change[Cluster, tuple[str, str]]):
    """Configure HAProxy and keepalived for all control-plane nodes that are not leaving.

    HAProxy itself leaves out apiservers that are not ready.
    """

    title = "configure the load balancer"

    def look(self, host: Host, cluster: Cluster) -> tuple[str, str] | None:
        known = cluster.topology
        nodes = [(known.name(node), known.address_of(node)) for node in cluster.control_plane]
        balancer, router = haproxy.render(nodes), _render_keepalived(host, cluster)
        is_ha = units.is_as_configured(host, haproxy.PACKAGE, haproxy.files(balancer))
        if is_ha and units.is_as_configured(host, keepalived.PACKAGE, keepalived.files(router)):
            return None
        return balancer, router

    def act(self, host: Host, cluster: Cluster, configurations: tuple[str, str]) -> None:
        balancer, router = configurations
        haproxy.check(host, balancer)
        units.configure(host, haproxy.PACKAGE, haproxy.files(balancer))  # keeps connections open
        units.configure(host, keepalived.PACKAGE, keepalived.files(router))


def _render_keepalived(host: Host, cluster: Cluster) -> str:
    own = cluster.address(host)
    addresses = map(cluster.topology.address_of, cluster.control_plane)
    return keepalived.render(
        cluster.topology.address,
        own,
        interfaces.find(host, own),
        [address for address in addresses if address != own],
        # The rank of a node does not depend on nodes that are leaving.
        rank=cluster.topology.control_plane.index(host.node),
    )


class ReleaseVirtualIp(HostPhase[Cluster]):
    """Stop keepalived on a leaving control-plane node, so that another node takes the virtual IP.

    Without it, the virtual IP is unreachable for seconds after the machine is deleted.
    """

    title = "release the virtual IP"
    prediction = Prediction(CHANGED)

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        try:
            if not host.ask("test", "-e", keepalived.CONFIG).ok:
                return UNCHANGED
            host.sudo("systemctl", "stop", keepalived.PACKAGE)
            host.sudo("systemctl", "disable", "--quiet", keepalived.PACKAGE)
        except MgmtDriverError as error:
            # The machine may be broken, which may be why it is healed.
            LOG.warning("%s may keep the virtual IP until it is deleted: %s", host.node, error)
            return UNCHANGED
        return CHANGED


class VerifyVirtualIp(Check[Cluster]):
    """Check from a control-plane node that the API is ready at the virtual IP."""

    title = "verify the virtual IP"

    def check(self, host: Host, cluster: Cluster) -> None:
        kubectl.wait_for_api(host, cluster.topology.address, BALANCED_PORT, _LIMIT)
