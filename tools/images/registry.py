"""Images in a registry, by this machine's Docker engine, which knows of plain HTTP and CAs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from docker import DockerClient

from tools.images.references import ImageError


def push(client: DockerClient, references: Sequence[str], repository: str) -> Iterator[str]:
    """Pull images and push them under their short names; yields each one's new reference."""
    for reference in references:
        image = client.images.pull(reference)
        yield _push(client, image, reference, repository)


def push_archives(
    client: DockerClient, archives: Sequence[Path], repository: str
) -> Iterator[str]:
    """Push the images of archives that ``docker save`` made."""
    for archive in archives:
        with archive.open("rb") as file:
            images = client.images.load(file)
        if not any(image.tags for image in images):
            raise ImageError(f"{archive} holds no image with a name")
        for image in images:
            for reference in image.tags:
                yield _push(client, image, reference, repository)


def _push(client: DockerClient, image: Any, reference: str, repository: str) -> str:
    target = f"{repository}/{reference.rpartition('/')[2]}"
    image.tag(*target.rsplit(":", 1))
    for event in client.api.push(target, stream=True, decode=True):
        if "error" in event:
            raise ImageError(f"{target}: {event['error']}")
    return target
