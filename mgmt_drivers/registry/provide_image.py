"""The registry's image on the machine: from the VNF package, from a server, or pulled."""

from mgmt_drivers.engine.phase import DEPENDS, Change, Prediction
from mgmt_drivers.errors import CommandFailed, RegistryError
from mgmt_drivers.machine import docker
from mgmt_drivers.machine.host import Host
from mgmt_drivers.registry.registry_params import ImageArchive, PrivateRegistryParams, RemoteImage

PUBLIC_IMAGE = "registry:2"


def image_tag(image: ImageArchive | RemoteImage | None) -> str:
    return image.tag if image else PUBLIC_IMAGE


class ProvideImage(Change[PrivateRegistryParams, str]):
    """Bring the registry's image to the machine from the package or a server, or pull the image."""

    title = "provide the registry image"
    on_new_machine = Prediction(DEPENDS, "on whether the image of the new machine brings it")

    def look(self, host: Host, params: PrivateRegistryParams) -> str | None:
        tag = image_tag(params.image)
        return None if docker.has_image(host, tag) else tag

    def describe(self, tag: str) -> str:
        return tag

    def act(self, host: Host, params: PrivateRegistryParams, tag: str) -> None:
        image = params.image
        if isinstance(image, ImageArchive):
            docker.load(host, image.path, image.reference, tag)
            return
        try:
            if image:
                failure = "image_url cannot be used from the machine"
                docker.fetch(host, image.url, image.sha256, params.proxy, tag)
            else:
                failure = (
                    f"cannot pull {PUBLIC_IMAGE} from the public registry. Give the machine a way "
                    "to the registry (parameter proxy), or put a file made by `docker save` into "
                    "the VNF package and name the file in image_path"
                )
                docker.pull(host, PUBLIC_IMAGE)
        except CommandFailed as error:
            raise RegistryError(f"{failure}. {error}") from error
