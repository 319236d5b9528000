"""Verify that the API is ready at the virtual IP, as everyone else reaches it."""

from mgmt_drivers.engine.phase import Check, Lanes, at_once
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import readiness
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.topology import BALANCED_PORT

_LIMIT = 60.0  # seconds


class VerifyVirtualIp(Check[Cluster]):
    """From the control-plane nodes that joined and from the leader."""

    title = "verify the virtual IP"

    def select(self, cluster: Cluster) -> Lanes:
        joined = cluster.joining_control_plane
        return at_once([cluster.leader, *joined]) if joined else []

    def check(self, host: Host, cluster: Cluster) -> None:
        readiness.wait_for_api(host, cluster.topology.address, BALANCED_PORT, _LIMIT)
