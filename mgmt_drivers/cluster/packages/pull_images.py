"""Pull the images of Kubernetes, each machine those that it runs."""

from collections.abc import Sequence

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.kubeadm import kubeadm
from mgmt_drivers.cluster.packages import images
from mgmt_drivers.engine.phase import DEPENDS, Change, Prediction
from mgmt_drivers.errors import CommandFailed, MgmtDriverError
from mgmt_drivers.machine.host import Host


class PullImages(Change[Cluster, Sequence[str]]):
    """Pull the images of Kubernetes that the node runs, before it joins or is upgraded.

    :param is_upgrade: the node is upgraded
    :param with_pod_network: also the images of the CNI manifest, which is applied later
    """

    title = "pull images"
    on_new_machine = Prediction(DEPENDS, "on which images the image of the new machine brings")

    def __init__(self, is_upgrade: bool = False, with_pod_network: bool = True) -> None:
        self._is_upgrade, self._with_pod_network = is_upgrade, with_pod_network

    def look(self, host: Host, cluster: Cluster) -> Sequence[str] | None:
        """The images that the machine lacks."""
        return images.find_missing(host, cluster, self._with_pod_network) or None

    def describe(self, lacking: Sequence[str]) -> str:
        return ", ".join(lacking)

    def predict(self, host: Host, cluster: Cluster) -> Prediction:
        wanted = cluster.params.version
        if self._is_upgrade and not wanted.is_release(kubeadm.read_version(host)):
            return Prediction(DEPENDS, f"on the images of the {wanted} that kubeadm will have")
        return super().predict(host, cluster)

    def act(self, host: Host, cluster: Cluster, lacking: Sequence[str]) -> None:
        for image in lacking:
            try:
                cluster.runtime.pull(host, image)
            except CommandFailed as error:
                if images.may_be_absent(image) and images.is_absent(error):
                    continue  # the log says so when the control plane is initialized
                raise MgmtDriverError(
                    f"cannot pull {image}. Give the machine a way to its registry (a route, or the "
                    "parameter proxy), or name one that has the images of Kubernetes in "
                    f"image_repository. {error}"
                ) from error
