"""Verify that the control-plane nodes that joined do their part."""

import logging

from mgmt_drivers.engine.phase import Check
from mgmt_drivers.errors import WaitTimeout
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import etcd, readiness
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.etcd import Census
from mgmt_drivers.kube.topology import API_PORT
from mgmt_drivers.phases.selection import OnJoiningControlPlane

LOG = logging.getLogger(__name__)

_LIMIT = 180.0  # seconds


class VerifyControlPlane(OnJoiningControlPlane, Check[Cluster]):
    """Each is a started and healthy voter of etcd, and its apiserver is ready.

    Another node that is unhealthy does not hold this operation up: it is its heal
    that has to come next.
    """

    title = "verify the control plane"

    def check(self, host: Host, cluster: Cluster) -> None:
        readiness.wait_for_api(host, cluster.address(host), API_PORT, _LIMIT)
        name, reason = cluster.name(host), ""
        for _ in host.clock.attempts(_LIMIT):
            try:
                reason = _unhealthiness(name, etcd.census(host, cluster))
            except etcd.EtcdUnreadable as error:
                reason = str(error)
            if not reason:
                return
        raise WaitTimeout(f"{name} is no healthy voter of etcd within {_LIMIT:g} s: {reason}")


def _unhealthiness(name: str, found: Census) -> str:
    """Why a node is no healthy voter; empty if it is one."""
    voters = {m.name: m for m in found.members if m.is_voter}
    if name not in voters:
        return f"voters are: {', '.join(voters) or 'none'}"
    if voters[name].id not in found.healthy:
        return "etcd does not report it as healthy"
    unhealthy = [str(m) for m in found.members if m.id not in found.healthy]
    if unhealthy:
        LOG.warning("members of etcd that are not healthy: %s", ", ".join(unhealthy))
    return ""
