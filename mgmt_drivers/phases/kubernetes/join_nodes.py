"""Join every machine that is no member yet."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import etcd, kubeadm, kubectl
from mgmt_drivers.kube.cluster import Cluster, Invitation
from mgmt_drivers.phases.phase import Phase

LOG = logging.getLogger(__name__)


class NotTried(MgmtDriverError):
    """A master is left alone because one before it failed to join."""


class JoinNodes(Phase[Cluster]):
    """Workers all at once, masters one after another: etcd takes one new member at a time."""

    title = "join the cluster"

    def needed(self, host: Host, context: Cluster) -> bool:
        if not kubeadm.is_member(host):
            return True
        # The cluster has the last word: it may have lost the machine since.
        return context.name(host.node) not in kubectl.nodes(context.lead)

    def apply(self, host: Host, context: Cluster) -> None:
        invitation = _invitation(context)
        kubeadm.forget(host)
        if kubeadm.is_half_way(host):
            # kubeadm refuses a name that the cluster has as a node that is ready,
            # which it goes on to be for a while.
            kubectl.delete(context.lead, "node", context.name(host.node))
        if context.is_master(host.node):
            _join_control_plane(host, context, invitation)
        else:
            kubeadm.join(host, context, invitation)

    @contextmanager
    def around(self, context: Cluster) -> Iterator[None]:
        """Take the invitation back, also when a machine failed to join."""
        try:
            yield
        finally:
            if context.invitation:
                try:
                    kubeadm.revoke(context.lead, context.invitation)
                except MgmtDriverError as error:
                    # It expires within the hour; a failure to join must not be hidden.
                    LOG.warning("the join token is not revoked: %s", error)


def _invitation(cluster: Cluster) -> Invitation:
    with cluster.lock:
        if cluster.invitation is None:
            cluster.invitation = kubeadm.invite(cluster.lead, cluster)
        return cluster.invitation


def _join_control_plane(host: Host, cluster: Cluster, invitation: Invitation) -> None:
    with cluster.control_plane:
        if cluster.failed_master:
            raise NotTried(f"not tried, because {cluster.failed_master} could not join")
        cluster.failed_master = cluster.name(host.node)
        etcd.purge(cluster.lead, cluster, cluster.address(host.node))
        kubeadm.join(host, cluster, invitation)
        cluster.failed_master = ""
