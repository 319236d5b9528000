"""Take the masters that leave out of etcd."""

import logging

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import etcd
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.kubernetes.check_quorum import (
    Indispensable,
    members_leaving,
)
from mgmt_drivers.phases.phase import Phase

LOG = logging.getLogger(__name__)


class RemoveEtcdMembers(Phase[Cluster]):
    """One after another, as long as a quorum stands; after a snapshot on a master that stays."""

    title = "remove the members of etcd"

    def needed(self, host: Host, context: Cluster) -> bool:
        if host is not context.lead or not context.changes_masters:
            return False
        return bool(members_leaving(context, etcd.members(host, context)))

    def apply(self, host: Host, context: Cluster) -> None:
        found = etcd.census(host, context)
        leaving = members_leaving(context, found.members)
        etcd.move_leader(host, context, found, leaving)
        path = etcd.snapshot(host, context)
        LOG.info("etcd's snapshot lies on %s: %s", host.node, path)
        for member in etcd.in_order(found, leaving):
            reason = etcd.refusal(etcd.census(host, context), [member])
            if reason:
                raise Indispensable(reason)
            etcd.remove(host, context, member)
