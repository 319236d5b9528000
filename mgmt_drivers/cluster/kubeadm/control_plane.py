"""A control-plane node that serves: its member of etcd and its apiserver."""

import logging

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.etcd import etcd
from mgmt_drivers.cluster.etcd.etcd import EtcdStatus
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.topology import API_PORT
from mgmt_drivers.errors import WaitTimeout
from mgmt_drivers.machine.host import Host

LOG = logging.getLogger(__name__)

_LIMIT = 180.0  # seconds for a node that joined to do its part


def wait_until_healthy(host: Host, cluster: Cluster, limit: float = _LIMIT) -> None:
    """Wait until a control-plane node is a healthy voter of etcd, and its apiserver ready.

    :param limit: seconds for the apiserver, and as many again for etcd
    :raises WaitTimeout: saying why it is not
    """
    kubectl.wait_for_api(host, cluster.address(host), API_PORT, limit)
    name, reason = cluster.name(host), ""
    for _ in host.clock.attempts(limit):
        try:
            reason = _why_unhealthy(name, etcd.read_status(host, cluster))
        except etcd.EtcdUnreadable as error:
            reason = str(error)
        if not reason:
            return
    raise WaitTimeout(
        f"{name} did not become a healthy voter of etcd within {limit:g} s: {reason}"
    )


def _why_unhealthy(name: str, status: EtcdStatus) -> str:
    """Why a node is not a healthy voter; empty if the node is a healthy voter."""
    voters = {m.name: m for m in status.members if m.is_voter}
    if name not in voters:
        return f"voters are: {', '.join(voters) or 'none'}"
    if voters[name].id not in status.healthy:
        return f"etcd does not report it as healthy: {status.state(voters[name])}"
    unhealthy = [m for m in status.members if m.id not in status.healthy]
    if unhealthy:
        LOG.warning("members of etcd that are not healthy: %s", status.describe(unhealthy))
    return ""
