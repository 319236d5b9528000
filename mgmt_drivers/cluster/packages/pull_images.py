"""Pull the images of Kubernetes, each machine those that it runs."""

from collections.abc import Sequence

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.kubeadm import kubeadm
from mgmt_drivers.cluster.nodes import cluster_dns
from mgmt_drivers.cluster.packages import images
from mgmt_drivers.engine.phase import DEPENDS, NamedChange, Prediction
from mgmt_drivers.errors import CommandFailed, RegistryError
from mgmt_drivers.machine.host import Host

_PUSH = "Push the image into its registry"
_REACH = "Give the machine a way to its registry (a route, or the parameter proxy)"


class PullImages(NamedChange[Cluster]):
    """Pull the images of Kubernetes that the node runs, before it joins or is upgraded.

    :param with_pod_network: also the images of the CNI manifest, which is applied later
    """

    title = "pull images"
    on_new_machine = Prediction(DEPENDS, "on which images the image of the new machine brings")

    def __init__(self, is_upgrade: bool = False, with_pod_network: bool = True) -> None:
        self._is_upgrade, self._with_pod_network = is_upgrade, with_pod_network

    def look(self, host: Host, cluster: Cluster) -> Sequence[str] | None:
        return images.find_missing(host, cluster, self._with_pod_network) or None

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
                is_absent = images.is_absent(error)
                if is_absent and images.may_be_absent(image) and not self._needs_dns(host):
                    continue  # the log says so when the control plane is initialized
                raise RegistryError(
                    f"cannot pull {image}. {_PUSH if is_absent else _REACH}, or name one that has "
                    f"the images of Kubernetes in image_repository. {error}"
                ) from error

    def _needs_dns(self, host: Host) -> bool:
        """Whether an upgrade would end the cluster's DNS by an image that nobody has."""
        return self._is_upgrade and bool(cluster_dns.list_pods(host))
