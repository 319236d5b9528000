"""Pull the images of Kubernetes, each machine those that it runs."""

from collections.abc import Sequence

from mgmt_drivers.engine.phase import Change
from mgmt_drivers.errors import CommandFailed, MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import images
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.selection import OnPreparedNodes


class PullImages(OnPreparedNodes, Change[Cluster, Sequence[str]]):
    """Pull the images of Kubernetes that the node runs, before it joins or is upgraded."""

    title = "pull images"

    def look(self, host: Host, cluster: Cluster) -> Sequence[str] | None:
        """The images that the machine lacks."""
        return images.missing(host, cluster) or None

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
