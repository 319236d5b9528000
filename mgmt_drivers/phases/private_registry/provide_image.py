"""Bring the registry's image to the machine: from the package, or by pulling it."""

from mgmt_drivers.errors import CommandFailed, MgmtDriverError
from mgmt_drivers.host import docker
from mgmt_drivers.host.host import Host
from mgmt_drivers.params.private_registry import ImageArchive, PrivateRegistryParams
from mgmt_drivers.phases.phase import Phase

PUBLIC_IMAGE = "registry:2"


class ImageUnavailable(MgmtDriverError):
    """The registry's image cannot be pulled."""


def image_tag(image: ImageArchive | None) -> str:
    """Name of the image on the machine; that of an archive tells its content."""
    return f"private-registry:{image.sha256[:12]}" if image else PUBLIC_IMAGE


class ProvideImage(Phase[PrivateRegistryParams]):
    """The archive is streamed into ``docker load``: no copy stays on the machine."""

    title = "provide the registry image"

    def needed(self, host: Host, params: PrivateRegistryParams) -> bool:
        return docker.image_id(host, image_tag(params.image)) is None

    def apply(self, host: Host, params: PrivateRegistryParams) -> None:
        if params.image:
            tag = image_tag(params.image)
            docker.load(host, params.image.path, params.image.reference, tag)
            return
        try:
            docker.pull(host, PUBLIC_IMAGE)
        except CommandFailed as error:
            raise ImageUnavailable(
                f"cannot pull {PUBLIC_IMAGE} from the public registry. Give the machine a way to "
                "it (parameter proxy), or put a file made by `docker save` into the VNF package "
                f"and name it in image_path. {error}"
            ) from error
