"""Prove that the masters that joined do their part."""

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import etcd, readiness
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase
from mgmt_drivers.ssh import wait

_LIMIT = 180.0  # seconds


class ProveControlPlane(Phase[Cluster]):
    """Every master is a started and healthy voter of etcd, and its apiserver is ready."""

    title = "prove the control plane"

    def needed(self, host: Host, context: Cluster) -> bool:
        return context.changes_masters and host.node in context.masters

    def apply(self, host: Host, context: Cluster) -> None:
        readiness.await_api(host, context.address(host.node), _LIMIT)
        own = context.name(host.node)

        def votes() -> None:
            found = etcd.census(host, context)
            odd = [str(m) for m in found.members if not m.is_voter]
            sick = [str(m) for m in found.members if m.id not in found.healthy]
            if odd or sick:
                raise wait.NotYet(f"no voters: {odd or 'none'}, not healthy: {sick or 'none'}")
            if own not in {member.name for member in found.members}:
                raise wait.NotYet(f"{own} is not among its members")

        wait.until(votes, _LIMIT, "health of all members of etcd")
