"""Lists the images that a cluster's machines pull, and pushes them into a registry."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import docker
from docker.errors import DockerException

from mgmt_drivers.params.series import DEFAULT_VERSION
from tools.client.packages import SOURCES
from tools.devcloud.progress import print_error
from tools.images import registry
from tools.images.references import ImageError, of_pod_network, of_release


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="images",
        description="The images that a cluster's machines pull, for a registry that stands in "
        "for the internet (the parameter image_repository).",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="print the references, a line each")
    pushing = commands.add_parser("push", help="push the images into a registry")
    pushing.add_argument("repository", help="such as registry.example.com:5000/kubernetes")
    pushing.add_argument(
        "archives", nargs="*", type=Path, metavar="ARCHIVE",
        help="files of `docker save`; without any, the images are pulled from where they lie",
    )
    for command in (listing, pushing):
        command.add_argument(
            "--kubernetes-version", default=str(DEFAULT_VERSION), metavar="VERSION",
            help=f"a series or a release; default: {DEFAULT_VERSION}",
        )
        command.add_argument(
            "--kubeadm", type=Path, help="kubeadm of this version; default: it is downloaded"
        )
        command.add_argument(
            "--package", type=Path, default=SOURCES / "kubernetes", metavar="FOLDER",
            help="the VNF package whose pod network is meant; default: %(default)s",
        )
    options = parser.parse_args(argv)
    try:
        return _list(options) if options.command == "list" else _push(options)
    except (ImageError, DockerException, OSError) as error:
        print_error(str(error))
        return 1


def _references(options: argparse.Namespace) -> list[str]:
    found = of_release(options.kubernetes_version, options.kubeadm)
    return [*found, *of_pod_network(options.package)]


def _list(options: argparse.Namespace) -> int:
    print("\n".join(_references(options)))
    return 0


def _push(options: argparse.Namespace) -> int:
    client = docker.from_env()
    if options.archives:
        pushed = registry.push_archives(client, options.archives, options.repository)
    else:
        pushed = registry.push(client, _references(options), options.repository)
    for reference in pushed:
        print(f"pushed {reference}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
