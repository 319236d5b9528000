"""The image as its authors publish it, where a registry that has it can be reached."""

from collections.abc import Iterable

from tools.registry_image.image import TAG, ImageError


def pull() -> Iterable[bytes]:
    """Pull the image, and return its `docker save` archive piece by piece.

    :raises ImageError: there is no Docker engine, or it cannot pull
    """
    try:
        import docker
        import docker.errors
    except ImportError as error:
        raise ImageError("--pull needs the docker SDK: pip install -r requirements.txt") from error
    name, tag = TAG.split(":")
    try:
        image = docker.from_env().images.pull(name, tag=tag)
        pieces: Iterable[bytes] = image.save(named=TAG)
    except docker.errors.DockerException as error:
        raise ImageError(
            f"cannot pull {TAG}: {error}; without --pull it is made from Debian's packages"
        ) from error
    return pieces
