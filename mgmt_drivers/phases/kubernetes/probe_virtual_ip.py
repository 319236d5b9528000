"""Reach the API through the virtual IP, as everyone else does."""

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import readiness
from mgmt_drivers.kube.cluster import BALANCED_PORT, Cluster
from mgmt_drivers.phases.phase import Phase

_LIMIT = 60.0  # seconds


class ProbeVirtualIp(Phase[Cluster]):
    """From every master, once its load balancer is as it should be."""

    title = "probe the virtual IP"

    def needed(self, host: Host, context: Cluster) -> bool:
        return context.changes_masters and host.node in context.masters

    def apply(self, host: Host, context: Cluster) -> None:
        readiness.await_api(host, context.topology.address, _LIMIT, BALANCED_PORT)
