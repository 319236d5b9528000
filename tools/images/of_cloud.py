"""The images of Kubernetes that a cloud has, in a registry of its."""

from tools.client import kubernetes_source
from tools.progress import Progress


def push(registry: str, progress: Progress) -> None:
    """Push the images of the configured version.

    :param registry: ``host:port``
    :raises ClientError: when the mirror, the cloud or the registry gives an error
    """
    with progress.step("pushing the images of Kubernetes into the registry"):
        kubernetes_source.push_images(registry)
