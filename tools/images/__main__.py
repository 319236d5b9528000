"""Lists the images that a cluster's machines pull, and pushes them into a registry."""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import docker
from docker.errors import DockerException

from tools.client.config import CONFIG
from tools.client.errors import ClientError
from tools.client.packages import SOURCES
from tools.images import of_cloud, registry
from tools.images.references import ImageError, of_package, of_release
from tools.progress import Progress, print_error

_HOST_AND_PORT = re.compile(r"[\w.-]+:\d+")


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
    pushing.add_argument(
        "--from-cloud", action="store_true",
        help="into a registry of the cloud that OS_* name: the images of the mirror that "
        "FUNCTIONAL_KUBERNETES_MIRROR names, or the published ones from a machine with Docker, "
        "which is removed afterwards",
    )
    for command in (listing, pushing):
        command.add_argument(
            "--kubernetes-version", default=CONFIG.kubernetes_version, metavar="VERSION",
            help="a series or a release; default: %(default)s",
        )
        command.add_argument(
            "--kubeadm", type=Path, help="kubeadm of this version; default: it is downloaded"
        )
        command.add_argument(
            "--kubeadm-sha256", default="", metavar="DIGEST",
            help="digest of kubeadm, from a source that you trust; default: the download is "
            "trusted as its server's certificate is",
        )
        command.add_argument(
            "--package", type=Path, default=SOURCES / "kubernetes", metavar="FOLDER",
            help="the VNF package whose pod network is meant; default: %(default)s",
        )
        command.add_argument(
            "--addon", action="append", default=[], metavar="MANIFEST",
            help="manifest of an add-on in the package, such as "
            "Files/kubernetes/addons/metrics-server.yaml; may be given several times",
        )
    options = parser.parse_args(argv)
    if options.command == "push" and options.from_cloud:
        _check_cloud(pushing, options)
    try:
        return _list(options) if options.command == "list" else _push(options)
    except (ClientError, ImageError, DockerException, OSError) as error:
        print_error(str(error))
        return 1


def _check_cloud(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.archives or options.kubeadm or not _HOST_AND_PORT.fullmatch(options.repository):
        parser.error("--from-cloud takes a registry as ADDRESS:PORT, and no archive or kubeadm")
    if not (os.environ.get("OS_CLOUD") or os.environ.get("OS_AUTH_URL")):
        parser.error('no cloud is chosen; run eval "$(python -m tools.devcloud openrc)" first')


def _references(options: argparse.Namespace) -> list[str]:
    found = of_release(
        options.kubernetes_version, options.kubeadm, options.kubeadm_sha256
    )
    return [*found, *of_package(options.package, options.addon)]


def _list(options: argparse.Namespace) -> int:
    print("\n".join(_references(options)))
    return 0


def _push(options: argparse.Namespace) -> int:
    if options.from_cloud:
        os.environ["FUNCTIONAL_KUBERNETES_VERSION"] = options.kubernetes_version
        of_cloud.push(options.repository, Progress())
        return 0
    client = docker.from_env()
    if options.archives:
        others = of_package(options.package, options.addon)
        pushed = registry.push_archives(client, options.archives, options.repository, others)
    else:
        pushed = registry.push(client, _references(options), options.repository)
    for reference in pushed:
        print(f"pushed {reference}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
