"""Images in a registry, by this machine's Docker engine, which knows of plain HTTP and CAs."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from docker import DockerClient

from tools.images.references import ImageError, check_published, split


def push(client: DockerClient, references: Sequence[str], repository: str) -> Iterator[str]:
    """Pull images and push them under their short names; yields each one's new reference."""
    for reference in references:
        split(reference)  # before anything is pulled that cannot be pushed
        image = client.images.pull(reference)
        yield _push(client, image, reference, repository)


def push_archives(
    client: DockerClient, archives: Sequence[Path], repository: str, others: Collection[str]
) -> Iterator[str]:
    """Push the images of archives that ``docker save`` made.

    :param others: references of images that are no part of Kubernetes
    :raises ImageError: an archive has an image that machines do not pull
    """
    for archive in archives:
        with archive.open("rb") as file:
            images = client.images.load(file)
        if not any(image.tags for image in images):
            raise ImageError(f"{archive} holds no image with a name")
        for reference in (reference for image in images for reference in image.tags):
            check_published(reference, others)
        for image in images:
            for reference in image.tags:
                yield _push(client, image, reference, repository)


def _push(client: DockerClient, image: Any, reference: str, repository: str) -> str:
    whole, tag = split(reference)
    name = f"{repository}/{whole.rpartition('/')[2]}"
    image.tag(name, tag)
    target = f"{name}:{tag}"
    for event in client.api.push(target, stream=True, decode=True):
        if "error" in event:
            raise ImageError(f"{target}: {event['error']}")
    return target
