"""A control-plane node that serves: its member of etcd and its programs."""

import logging
from collections.abc import Sequence

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

PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
WITH_ETCD = (*PROGRAMS, "etcd")  # in the order in which they end
_LIMIT = 180.0  # seconds for a node that joined to do its part
# Seconds in which programs end, which takes an apiserver up to a minute, or are started anew, which
# takes kubelet up to five minutes after they failed.
RESTART_LIMIT = 420.0


def replace_programs(host: Host, cluster: Cluster, programs: Sequence[str] = PROGRAMS) -> None:
    """Let kubelet start programs anew, each in another container.

    Their manifests stay where they are, so that nothing is missing whenever the connection breaks.
    Nothing may be ended before kubelet has shown that it starts. kubelet is stopped while they end:
    of another series, it would start its own ones beside them, which fail at their ports. kubelet
    starts what has failed after up to five minutes; one that has just started has counted nothing.
    """

    def list_containers(verb: str) -> dict[str, set[str]]:
        """List the ids of containers in which each program runs, or ran until it was ended."""
        words = (verb, cluster.runtime.service, cluster.name(host), *programs)
        lines = host.sudo(*STATIC_PODS.command(*words), timeout=RESTART_LIMIT).splitlines()
        return {each: {line for line in lines if line.startswith(f"{each} ")} for each in programs}

    before = list_containers("end")

    def replaced() -> None:
        after = list_containers("show")
        for program in programs:
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
