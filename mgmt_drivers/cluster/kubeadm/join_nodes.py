"""Join every machine that has not joined yet."""

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.etcd import quorum
from mgmt_drivers.cluster.kubeadm import kubeadm
from mgmt_drivers.cluster.kubeadm.kubeadm_config import JoinCredentials
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.engine.phase import Ask, Phase, Prediction, Step, Work
from mgmt_drivers.engine.trace import CHANGED, Outcome
from mgmt_drivers.machine.host import Host


class JoinNodes(Phase[Cluster]):
    """Join machines that have not joined yet."""

    title = "join nodes"
    prediction = Prediction(CHANGED)

    def __init__(self, joining: Sequence[Host]) -> None:
        self._joining = joining

    @contextmanager
    def around(self, cluster: Cluster, ask: Ask) -> Iterator[Step[Cluster]]:
        """Create join credentials, and revoke them, also when a machine failed to join."""
        create = functools.partial(
            kubeadm.create_join_credentials, cluster=cluster, joining=self._joining
        )
        credentials = ask(cluster.leader, create, CHANGED)
        try:
            yield functools.partial(_join, credentials=credentials)
        finally:
            kubeadm.revoke(cluster.leader, credentials)

    def prepares(self, cluster: Cluster) -> Sequence[Host]:
        return [cluster.leader]


def join(
    masters: Sequence[Host], workers: Sequence[Host], after: Sequence[Host]
) -> Work[Cluster]:
    """Join workers in parallel and, beside them, control-plane nodes one after another.

    etcd takes one new member at a time, and none after one that failed to join.
    """
    lanes = [[worker] for worker in workers]
    joining = JoinNodes([*masters, *workers])
    return Work([masters, *lanes] if masters else lanes, [joining], after)


def _join(host: Host, cluster: Cluster, credentials: JoinCredentials) -> Outcome:
    if cluster.is_control_plane(host):
        quorum.purge(cluster.leader, cluster, cluster.address(host))
    if kubeadm.is_partly_joined(host):
        # kubeadm refuses a name that the cluster has as a node that is ready,
        # which it goes on to be for a while.
        kubectl.delete(cluster.leader, "node", cluster.name(host))
    kubeadm.clear_member_marker(host)
    kubeadm.join(host, cluster, credentials)
    return CHANGED
