"""Bring the registry's image to the machine: from the package, from a server, or by pulling it."""

from urllib.parse import urlsplit

from mgmt_drivers.errors import CommandFailed, MgmtDriverError
from mgmt_drivers.host import docker
from mgmt_drivers.host.host import Host
from mgmt_drivers.params.private_registry import (
    ImageArchive,
    PrivateRegistryParams,
    RemoteImage,
)
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.phases.phase import Phase

PUBLIC_IMAGE = "registry:2"


class ImageUnavailable(MgmtDriverError):
    """The registry's image cannot be had."""


def image_tag(image: ImageArchive | RemoteImage | None) -> str:
    """Name of the image on the machine."""
    return image.tag if image else PUBLIC_IMAGE


class ProvideImage(Phase[PrivateRegistryParams]):
    """The archive is streamed into ``docker load``: no copy stays on the machine."""

    title = "provide the registry image"

    def needed(self, host: Host, params: PrivateRegistryParams) -> bool:
        return docker.image_id(host, image_tag(params.image)) is None

    def apply(self, host: Host, params: PrivateRegistryParams) -> None:
        image = params.image
        if isinstance(image, ImageArchive):
            docker.load(host, image.path, image.reference, image.tag)
        elif isinstance(image, RemoteImage):
            _fetch(host, image, params.proxy)
        else:
            _pull(host)


def _fetch(host: Host, image: RemoteImage, proxy: Proxy | None) -> None:
    parts = urlsplit(image.url)
    way = proxy.way_to(parts.scheme, parts.hostname or "") if proxy else None
    try:
        docker.fetch(host, image.url, image.sha256, way, image.tag)
    except CommandFailed as error:
        raise ImageUnavailable(f"image_url cannot be used from the machine. {error}") from error


def _pull(host: Host) -> None:
    try:
        docker.pull(host, PUBLIC_IMAGE)
    except CommandFailed as error:
        raise ImageUnavailable(
            f"cannot pull {PUBLIC_IMAGE} from the public registry. Give the machine a way to "
            "it (parameter proxy), or put a file made by `docker save` into the VNF package "
            f"and name it in image_path. {error}"
        ) from error
