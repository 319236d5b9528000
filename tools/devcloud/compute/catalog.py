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

    recipe: images.Recipe
    virtual_machine: bool = False

    @property
    def docker_tag(self) -> str:
        """As the recipe is now: `devcloud up` may have built the image anew meanwhile."""
        return self.recipe.tag


IMAGES = {
    images.NODE.name: Image(images.NODE),
    images.NODE_DOCKER.name: Image(images.NODE_DOCKER),
    images.VM.name: Image(images.VM, virtual_machine=True),
}


def find(name: str) -> Image:
    """:raises ImageNotFound:"""
    try:
        return IMAGES[name]
    except KeyError:
        raise ImageNotFound(name) from None
