"""Lists the images that a cluster's machines pull, and pushes them into a registry."""

import argparse
import os
import re
from collections.abc import Iterator

import docker

from tools import command
from tools.client import kubernetes_source
from tools.client.errors import ClientError
from tools.command import UsageError, existing_file, free_text
from tools.images import options as image_options
from tools.images import registry
from tools.images.references import ImageError, of_package, of_release
from tools.progress import Progress

_HOST_AND_PORT = re.compile(r"[\w.-]+:\d+")
_SHA256 = re.compile("[0-9A-Fa-f]{64}")
_FINDINGS = (ClientError, ImageError)  # an image that cannot be had


def parsers() -> Iterator[command.Parser]:
    text = "List the images that a cluster's machines pull, a line each."
    listing = command.part("image list", text, _list, _FINDINGS)
    text = (
        "Push the images that a cluster's machines pull into a registry that stands in for the "
        "internet (the parameter image_repository)."
    )
    pushing = command.part("image push", text, _push, _FINDINGS)
    text = "such as registry.example.com:5000/kubernetes"
    pushing.add_argument("repository", type=free_text, metavar="REPOSITORY", help=text)
    pushing.add_argument(
        "archives", nargs="*", default=(), type=existing_file, metavar="ARCHIVE",
        help="files of `docker save`; without any, the images are pulled from their registries",
    )
    pushing.add_argument(
        "--from-cloud", action="store_true",
        help="into a registry of the cloud that OS_* name: the images of the mirror that "
        "FUNCTIONAL_KUBERNETES_MIRROR names, or the published ones from a machine with Docker, "
        "which is removed afterwards",
    )
    for added in (listing, pushing):
        image_options.add(added)
        added.add_argument(
            "--kubeadm", type=existing_file, metavar="FILE",
            help="kubeadm of this version; default: it is downloaded",
        )
        added.add_argument(
            "--kubeadm-sha256", type=_digest, metavar="DIGEST",
            help="digest of kubeadm, from a source that you trust; default: the download is "
            "trusted as its server's certificate is",
        )
    yield from (listing, pushing)


def _digest(text: str) -> str:
    if not _SHA256.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r}: 64 digits of sha256sum are needed")
    return text.lower()


def _check_cloud(options: argparse.Namespace) -> None:
    if options.archives or options.kubeadm or not _HOST_AND_PORT.fullmatch(options.repository):
        raise UsageError("--from-cloud takes a registry as ADDRESS:PORT, and no archive or kubeadm")
    if not (os.environ.get("OS_CLOUD") or os.environ.get("OS_AUTH_URL")):
        raise UsageError('no cloud is chosen; run eval "$(k8s-vnf cloud openrc)" first')


def _references(options: argparse.Namespace) -> list[str]:
    found = of_release(
        options.kubernetes_version, options.kubeadm, options.kubeadm_sha256 or ""
    )
    return [*found, *_of_package(options)]


def _of_package(options: argparse.Namespace) -> list[str]:
    return of_package(options.package, options.kubernetes_version, options.addon)


def _list(options: argparse.Namespace) -> int:
    print("\n".join(_references(options)))
    return 0


def _push(options: argparse.Namespace) -> int:
    if options.from_cloud:
        _check_cloud(options)
        os.environ["FUNCTIONAL_KUBERNETES_VERSION"] = options.kubernetes_version
        with Progress().step("pushing the images of Kubernetes into the registry"):
            kubernetes_source.push_images(options.repository)
        return 0
    client = docker.from_env()
    if options.archives:
        others = _of_package(options)
        pushed = registry.push_archives(client, options.archives, options.repository, others)
    else:
        pushed = registry.push(client, _references(options), options.repository)
    for reference in pushed:
        print(f"pushed {reference}", flush=True)
    return 0
