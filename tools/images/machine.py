"""Images in a registry, by way of a machine of the cloud with Docker."""

from tools.client import kubernetes_source, stacks
from tools.client.config import cloud
from tools.progress import Progress


def push(registry: str, progress: Progress) -> None:
    """Push from a machine that is deleted afterwards.

    :param registry: ``host:port``
    :raises ClientError: when the cloud gives no machine, or the machine has no success
    """
    with (
        progress.step("pushing the images of Kubernetes into the registry"),
        stacks.machines(cloud(), ["pusher"]) as (pusher,),
    ):
        kubernetes_source.push_images(pusher, registry)
