"""Pull the images of Kubernetes, each machine those that it runs."""

from mgmt_drivers.errors import CommandFailed, MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import images
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase


class ImagesUnavailable(MgmtDriverError):
    """An image of Kubernetes cannot be pulled."""


class PullImages(Phase[Cluster]):
    """Before anything is begun that the lack of an image would leave half done."""

    title = "pull the images"

    def needed(self, host: Host, context: Cluster) -> bool:
        return bool(images.missing(host, context))

    def apply(self, host: Host, context: Cluster) -> None:
        for image in images.missing(host, context):
            try:
                context.runtime.pull(host, image)
            except CommandFailed as error:
                if images.may_be_absent(image) and images.is_absent(error):
                    continue  # said when the control plane is made
                raise ImagesUnavailable(
                    f"cannot pull {image}. Give the machine a way to its registry (a route, or the "
                    "parameter proxy), or name one that has the images of Kubernetes in "
                    f"image_repository. {error}"
                ) from error
