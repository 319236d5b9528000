"""Join every machine that has not joined yet."""

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mgmt_drivers.engine.phase import Ask, Forecast, Lanes, Phase, Step, at_once
from mgmt_drivers.engine.trace import CHANGED, Outcome
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import etcd, kubeadm, kubectl
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.kubeadm_config import JoinCredentials


class JoinNodes(Phase[Cluster]):
    """Join workers at once and, beside them, control-plane nodes one after another.

    etcd takes one new member at a time, and none after one that failed to join.
    """

    title = "join nodes"

    def select(self, cluster: Cluster) -> Lanes:
        new = _joining(cluster)
        control_plane = _control_plane(cluster)
        return [control_plane, *at_once([host for host in new if host not in control_plane])]

    @contextmanager
    def around(self, cluster: Cluster, ask: Ask) -> Iterator[Step[Cluster]]:
        """Create join credentials, and revoke them, also when a machine failed to join."""
        create = functools.partial(
            kubeadm.create_join_credentials,
            cluster=cluster,
            for_control_plane=bool(_control_plane(cluster)),
        )
        credentials = ask(cluster.leader, create, CHANGED)
        try:
            yield functools.partial(_join, credentials=credentials)
        finally:
            kubeadm.revoke(cluster.leader, credentials)

    def prepares(self, cluster: Cluster) -> Sequence[Host]:
        return [cluster.leader]

    def foresee(self, host: Host, cluster: Cluster) -> Forecast:
        return Forecast(CHANGED)


def _joining(cluster: Cluster) -> list[Host]:
    # The leader has initialized the control plane: it never joins.
    return [h for h in cluster.joining if h is not cluster.leader and not cluster.has_joined(h)]


def _control_plane(cluster: Cluster) -> list[Host]:
    return [host for host in _joining(cluster) if cluster.is_control_plane(host)]


def _join(host: Host, cluster: Cluster, credentials: JoinCredentials) -> Outcome:
    if cluster.is_control_plane(host):
        etcd.purge(cluster.leader, cluster, cluster.address(host))
    if kubeadm.is_partly_joined(host):
        # kubeadm refuses a name that the cluster has as a node that is ready,
        # which it goes on to be for a while.
        kubectl.delete(cluster.leader, "node", cluster.name(host))
    kubeadm.clear_member_marker(host)
    kubeadm.join(host, cluster, credentials)
    return CHANGED
