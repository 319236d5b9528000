"""A control-plane node that serves: its member of etcd and its programs."""

import logging

from mgmt_drivers.clock import NotYet
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.etcd import etcd
from mgmt_drivers.cluster.etcd.etcd import EtcdStatus
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.packages.runtime import STATIC_PODS
from mgmt_drivers.cluster.topology import API_PORT
from mgmt_drivers.errors import WaitTimeout
from mgmt_drivers.machine.host import Host

LOG = logging.getLogger(__name__)

# Besides etcd.
PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_LIMIT = 180.0  # seconds for a node that joined to do its part
# Seconds for kubelet to start a program anew. An apiserver takes up to one minute to end its
# requests, and one that fails is started after five minutes at the latest.
RESTART_LIMIT = 420.0


def replace_programs(host: Host, cluster: Cluster) -> None:
    """Let a kubelet that has just started start the programs anew, each in another container.

    Their manifests stay where they are, so that nothing is missing whenever the connection breaks.
    Nothing is ended before kubelet has shown that it starts.
    """
    # kubelet waits up to five minutes before it starts what has ended twice; a kubelet that has
    # just started has counted nothing.
    before = _list_containers(host, "end", cluster)

    def replaced() -> None:
        after = _list_containers(host, "show", cluster)
        for program in PROGRAMS:
            if after[program] & before[program]:
                raise NotYet(f"{program} has not ended yet")
            if not after[program]:
                raise NotYet(f"{program} does not run")

    host.clock.until(replaced, RESTART_LIMIT, "the control plane's programs in new containers")


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


def _list_containers(host: Host, verb: str, cluster: Cluster) -> dict[str, set[str]]:
    """List the ids of containers in which each program runs, or ran until it was told to end."""
    words = (verb, cluster.runtime.service, cluster.name(host), *PROGRAMS)
    lines = host.sudo(*STATIC_PODS.command(*words)).splitlines()
    return {name: {line for line in lines if line.startswith(f"{name} ")} for name in PROGRAMS}
