"""Remove the control-plane nodes that leave from etcd."""

import logging
from collections.abc import Sequence

from mgmt_drivers.engine.phase import Change, Lanes
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import etcd
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.etcd import Member
from mgmt_drivers.phases.selection import OnLeader

LOG = logging.getLogger(__name__)


class RemoveEtcdMembers(OnLeader, Change[Cluster, Sequence[Member]]):
    """One after another, as long as a quorum stands; after a snapshot on the leader."""

    title = "remove etcd members"

    def select(self, cluster: Cluster) -> Lanes:
        return super().select(cluster) if cluster.leaving_control_plane else []

    def look(self, host: Host, cluster: Cluster) -> Sequence[Member] | None:
        """The members that leave and are still there."""
        return etcd.leaving(cluster, etcd.members(host, cluster)) or None

    def act(self, host: Host, cluster: Cluster, leaving: Sequence[Member]) -> None:
        found = etcd.census(host, cluster)
        etcd.move_leader(host, cluster, found, leaving)
        path = etcd.snapshot(host, cluster)
        LOG.info("etcd's snapshot lies on %s: %s", host.node, path)
        for member in etcd.in_order(found, leaving):
            reason = etcd.refusal(etcd.census(host, cluster), [member])
            if reason:
                raise MgmtDriverError(reason)
            etcd.remove(host, cluster, member)
