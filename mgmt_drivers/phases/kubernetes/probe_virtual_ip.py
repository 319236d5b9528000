"""Reach the API through the virtual IP, as everyone else does."""

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import readiness
from mgmt_drivers.kube.cluster import BALANCED_PORT, Cluster
from mgmt_drivers.phases.phase import Phase

_LIMIT = 60.0  # seconds


class ProbeVirtualIp(Phase[Cluster]):
    """From the masters that joined and from one that was there."""

    title = "probe the virtual IP"

    def needed(self, host: Host, context: Cluster) -> bool:
        joined = host.node in context.joining and context.is_master(host.node)
        return joined or (context.changes_masters and host is context.lead)

    def apply(self, host: Host, context: Cluster) -> None:
        readiness.await_api(host, context.topology.address, _LIMIT, BALANCED_PORT)
