"""The release to which a cluster is upgraded, also before any machine has the new kubeadm."""

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.kubeadm import kubeadm
from mgmt_drivers.engine.phase import DEPENDS, Change, Prediction
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED
from mgmt_drivers.machine.host import Host


def predict_release(release: str, cluster: Cluster) -> Prediction:
    wanted = cluster.params.version
    is_wanted = wanted.is_release(release)
    if is_wanted is None:
        return Prediction(DEPENDS, f"on whether the packages have a newer {wanted} than {release}")
    return Prediction(UNCHANGED) if is_wanted else Prediction(CHANGED, f"{release} to {wanted}")


class ReleaseChange(Change[Cluster, str]):
    """A change on the leader that is needed until the cluster has the release of its kubeadm."""

    def look(self, host: Host, cluster: Cluster) -> str | None:
        """The release that the cluster is to have, if it has another."""
        release = kubeadm.read_version(host)
        return None if kubeadm.read_cluster_release(host) == release else release

    def predict(self, host: Host, cluster: Cluster) -> Prediction:
        return predict_release(kubeadm.read_cluster_release(host), cluster)
