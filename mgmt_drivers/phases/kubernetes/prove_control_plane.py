"""Prove that the masters that joined do their part."""

import logging

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import etcd, readiness
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase
from mgmt_drivers.ssh import wait

LOG = logging.getLogger(__name__)

_LIMIT = 180.0  # seconds


class ProveControlPlane(Phase[Cluster]):
    """Each is a started and healthy voter of etcd, and its apiserver is ready.

    Another master that is sick does not hold this operation up: it is its heal
    that has to come next.
    """

    title = "prove the control plane"

    def needed(self, host: Host, context: Cluster) -> bool:
        return host.node in context.joining and context.is_master(host.node)

    def apply(self, host: Host, context: Cluster) -> None:
        readiness.await_api(host, context.address(host.node), _LIMIT)
        own = context.name(host.node)

        def votes() -> None:
            try:
                found = etcd.census(host, context)
            except etcd.EtcdUnreadable as error:
                raise wait.NotYet(str(error)) from error
            voters = {m.name: m for m in found.members if m.is_voter}
            if own not in voters:
                raise wait.NotYet(f"voters are: {', '.join(voters) or 'none'}")
            if voters[own].id not in found.healthy:
                raise wait.NotYet("it does not say that it is well")
            sick = [str(m) for m in found.members if m.id not in found.healthy]
            if sick:
                LOG.warning("members of etcd that are not healthy: %s", ", ".join(sick))

        wait.until(votes, _LIMIT, f"{own} to be a healthy voter of etcd")
