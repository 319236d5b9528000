"""The part of an upgrade before the cluster changes: kubeadm everywhere, a snapshot of etcd."""

import functools
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.etcd import upkeep
from mgmt_drivers.cluster.kubeadm import kubeadm
from mgmt_drivers.cluster.packages import node_packages
from mgmt_drivers.cluster.upgrade.releases import ReleaseChange, predict_release
from mgmt_drivers.engine.phase import Ask, Phase, Prediction, Step
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED, Outcome
from mgmt_drivers.machine.host import Host

LOG = logging.getLogger(__name__)

_SNAPSHOT = "etcd-before-upgrade"


class InstallKubeadm(Phase[Cluster]):
    """Install the new kubeadm on every node, and no other package yet.

    The installation proves that each machine reaches the packages, and tells the images to pull.
    The leader is first: if a series is requested, the other nodes get the leader's release.
    """

    title = "install kubeadm"

    @contextmanager
    def around(self, cluster: Cluster, ask: Ask) -> Iterator[Step[Cluster]]:
        install = functools.partial(_install, cluster=cluster, version=str(cluster.params.version))
        ask(cluster.leader, install, CHANGED)
        release = ask(cluster.leader, kubeadm.read_version)
        yield functools.partial(_install_if_other, release=release)

    def predict(self, host: Host, cluster: Cluster) -> Prediction:
        if host is cluster.leader:
            return Prediction(CHANGED, "the script of the VNF package runs")
        return predict_release(kubeadm.read_version(host), cluster)


def _install(host: Host, cluster: Cluster, version: str) -> None:
    changes = {node_packages.PACKAGES: "kubeadm", "KUBERNETES_VERSION": version}
    node_packages.run_script(host, cluster, **changes)


def _install_if_other(host: Host, cluster: Cluster, release: str) -> Outcome:
    if kubeadm.read_version(host) == release:
        return UNCHANGED
    _install(host, cluster, release.removeprefix("v"))
    return CHANGED


class SaveSnapshot(ReleaseChange):
    """Save a snapshot of etcd on the leader, as long as the cluster has the old version."""

    title = "save a snapshot of etcd"

    def act(self, host: Host, cluster: Cluster, release: str) -> None:
        path = upkeep.save_snapshot(host, cluster, _SNAPSHOT)
        LOG.info("etcd's snapshot from before %s lies on %s: %s", release, host.node, path)
