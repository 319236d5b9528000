"""Pushes the images of Kubernetes, of the mirror or the public ones, into a private registry."""

import argparse
import os
import re
import sys
from collections.abc import Sequence

from tools.client import kubernetes_source, stacks
from tools.client.config import cloud
from tools.client.errors import ClientError
from tools.devcloud.progress import Progress, print_error

_HOST_AND_PORT = re.compile(r"[\w.-]+:\d+")


def push(registry: str, progress: Progress) -> None:
    """Push from a machine with Docker, which is deleted afterwards.

    :param registry: ``host:port``
    """
    with (
        progress.step("pushing the images of Kubernetes into the registry"),
        stacks.machines(cloud(), ["pusher"]) as (pusher,),
    ):
        kubernetes_source.push_images(pusher, registry)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="push_images",
        description="Push the images of Kubernetes into a private registry, from a machine with "
        "Docker that is removed afterwards. The images are those of the mirror that "
        "FUNCTIONAL_KUBERNETES_MIRROR names, or else those of the Kubernetes project.",
    )
    parser.add_argument("registry", type=_registry, metavar="ADDRESS:PORT")
    options = parser.parse_args(argv)
    if not (os.environ.get("OS_CLOUD") or os.environ.get("OS_AUTH_URL")):
        print_error('no cloud is chosen; run eval "$(python -m tools.devcloud openrc)" first')
        return 1
    try:
        push(options.registry, Progress())
    except ClientError as error:
        print_error(str(error))
        return 1
    return 0


def _registry(text: str) -> str:
    if not _HOST_AND_PORT.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not an address and a port")
    return text


if __name__ == "__main__":
    sys.exit(main())
