"""Upgrade what is the cluster's: the first apiserver, what kubeadm keeps, what Tacker keeps."""

from mgmt_drivers.cluster import changed_params
from mgmt_drivers.cluster.changed_params import Changed
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.kubeadm import control_plane, kubeadm, kubelet
from mgmt_drivers.cluster.upgrade.releases import ReleaseChange, predict_release
from mgmt_drivers.engine.phase import Change, Prediction
from mgmt_drivers.machine.host import Host


class SetImageRepository(Change[Cluster, str]):
    """Let kubeadm take the images from the repository of the parameters, if they name one."""

    title = "set the image repository"

    def look(self, host: Host, cluster: Cluster) -> str | None:
        images = cluster.params.image_repository
        if images is None or kubeadm.read_image_repository(host) == images.reference:
            return None
        return images.reference

    def describe(self, reference: str) -> str:
        return reference

    def act(self, host: Host, cluster: Cluster, reference: str) -> None:
        kubeadm.set_image_repository(host, reference)


class UpgradeCluster(ReleaseChange):
    """Upgrade the leader's part of the control plane, and the cluster's version with it.

    When it fails, kubeadm puts the old static pods back. The parameters that are wanted are saved
    before: the process may die when the cluster has changed, and machines would join with others.
    """

    title = "upgrade the cluster"

    def __init__(self, changed: Changed) -> None:
        self._changed = changed

    def act(self, host: Host, cluster: Cluster, release: str) -> None:
        changed_params.save_wanted(cluster.store, self._changed)
        if cluster.topology.is_ha:
            kubelet.lead_to_load_balancer(host, cluster, release)
        kubeadm.upgrade_cluster(host, cluster, release)
        control_plane.wait_until_healthy(host, cluster)


class KeepVersion(Change[Cluster, Changed]):
    """Keep the version and its repositories for the machines that join from now on.

    They are kept as soon as the control plane has the version, since the upgrade may fail later. A
    cluster with a release keeps a release, also after an upgrade to a series: later machines get
    the release that the cluster has.

    :param has_release: the cluster had a release, not a series
    """

    title = "keep the version"

    def __init__(self, changed: Changed, has_release: bool = False) -> None:
        self._changed, self._has_release = changed, has_release

    def look(self, host: Host, cluster: Cluster) -> Changed | None:
        """The parameters to keep, if others are kept."""
        changed = self._changed
        if self._is_open(host, cluster):
            release = kubeadm.read_version(host).removeprefix("v")
            changed = {**changed, "kubernetes_version": release}
        return None if changed_params.load(cluster.store) == changed else changed

    def predict(self, host: Host, cluster: Cluster) -> Prediction:
        if self._is_open(host, cluster):
            return predict_release(kubeadm.read_version(host), cluster)
        return super().predict(host, cluster)

    def _is_open(self, host: Host, cluster: Cluster) -> bool:
        """Whether a release is to be kept, and the request has the series of kubeadm's."""
        is_wanted = cluster.params.version.is_release(kubeadm.read_version(host))
        return self._has_release and is_wanted is None

    def describe(self, changed: Changed) -> str:
        return str(changed.get("kubernetes_version", ""))

    def act(self, host: Host, cluster: Cluster, changed: Changed) -> None:
        changed_params.save(cluster.store, changed)


class KeepParams(KeepVersion):
    """Keep other changed parameters, when the machines have them."""

    title = "keep the parameters"
