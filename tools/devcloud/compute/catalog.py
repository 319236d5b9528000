"""The images that a server can be made from, by the name templates give."""

from dataclasses import dataclass

from tools.devcloud import images


class ImageNotFound(Exception):
    """No image of that name; worded as Glance words it."""

    def __init__(self, name: str) -> None:
        known = ", ".join(sorted(IMAGES))
        super().__init__(f"No images matching {{'name': '{name}'}}. Known here: {known}")


@dataclass(frozen=True)
class Image:
    """What a server of that image runs in: a container, or a QEMU machine in one."""

    docker_tag: str
    virtual_machine: bool = False


IMAGES = {
    images.NODE.name: Image(images.NODE.tag),
    images.NODE_DOCKER.name: Image(images.NODE_DOCKER.tag),
    images.VM.name: Image(images.VM.tag, virtual_machine=True),
}


def find(name: str) -> Image:
    """:raises ImageNotFound:"""
    try:
        return IMAGES[name]
    except KeyError:
        raise ImageNotFound(name) from None
