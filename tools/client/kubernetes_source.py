"""The source of Kubernetes for clusters: the cloud's own mirror, or the Kubernetes project."""

import contextlib
import hashlib
import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import requests

from mgmt_drivers.cluster.addons import manifests
from mgmt_drivers.cluster.series import SUPPORTED, Series, read_version
from tools.client import stacks
from tools.client.config import CHECKOUT, CONFIG, cloud
from tools.client.errors import ClientError
from tools.client.image_upload import upload
from tools.client.log import log, step
from tools.client.web import ask

BEFORE, NEWEST = list(SUPPORTED)[-2:]
_KEY, NEWEST_KEY = "Files/kubernetes.asc", "Files/kubernetes-new.asc"
_VARIABLE = "FUNCTIONAL_KUBERNETES_VERSION"


@contextlib.contextmanager
def configured(version: str) -> Iterator[None]:
    """Within the block, the version is the configured one."""
    former = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = version
    try:
        yield
    finally:
        del os.environ[_VARIABLE]
        if former is not None:
            os.environ[_VARIABLE] = former


def repository_key(name: str = _KEY) -> dict[str, Path]:
    """The key of the mirror's package repository, by its path in the VNF package."""
    if not CONFIG.kubernetes_mirror:
        return {}
    CONFIG.build.mkdir(parents=True, exist_ok=True)
    path = CONFIG.build / f"kubernetes-{series().name}.asc"
    url = f"{mirror_url()}/apt/Release.key"
    urllib.request.urlretrieve(url, path)  # noqa: S310 - the mirror is the configuration's
    return {name: path}


def source_params(image_repository: str | None, key: str = _KEY) -> dict[str, Any]:
    """The driver's parameters that name the version, its packages and its images.

    :param key: path of the mirror's key in the VNF package
    """
    params: dict[str, Any] = {
        "kubernetes_version": CONFIG.kubernetes_version,
        "image_repository": image_repository,
    }
    if CONFIG.kubernetes_mirror:
        params["package_repository"] = {"url": f"{mirror_url()}/apt", "key_path": key}
    return params


def upgrade_params() -> dict[str, Any]:
    """The parameters of an upgrade to the newest series, whose key is at NEWEST_KEY."""
    with configured(NEWEST):
        params = source_params(None, NEWEST_KEY)
    return {name: value for name, value in params.items() if value is not None}


def series() -> Series:
    """The series of the configured version.

    :raises ClientError: if the drivers do not support the version
    """
    version = read_version(CONFIG.kubernetes_version)
    if version is None:
        raise ClientError(f"{_VARIABLE} is {CONFIG.kubernetes_version}")
    return version.series


def mirror_url() -> str:
    """URL of the configured series on the mirror."""
    return f"{CONFIG.kubernetes_mirror}/{series().name}"


def missing_version() -> str:
    """A release of the same series that no repository has."""
    return f"{series().name}.99"


def push_images(registry: str) -> None:
    """Push the images of Kubernetes, and busybox, into a registry of the cloud.

    Images of a mirror are uploaded from here; a test machine, which is deleted at the end, pushes
    published images.

    :param registry: ``host:port``
    :raises ClientError: if the mirror, the machine or the registry gives an error
    """
    with step(f"push the images of Kubernetes to {registry}"):
        if CONFIG.kubernetes_mirror:
            _upload_mirrored(registry)
            return
        with stacks.machines(cloud(), ["pusher"]) as (pusher,):
            pusher.allow_plain_http(registry)
            pusher.run(push_command(registry))


def _upload_mirrored(registry: str) -> None:
    folder = f"{mirror_url()}/images"
    with requests.Session() as session:
        for line in ask(session, "GET", f"{folder}/SHA256SUMS").text.splitlines():
            digest, name = line.split()
            content = ask(session, "GET", f"{folder}/{name}").content
            if hashlib.sha256(content).hexdigest() != digest:
                raise ClientError(f"{folder}/{name} has another digest than in SHA256SUMS")
            log(f"pushed {upload(content, registry)}")


def push_command(registry: str) -> str:
    """The shell commands that push published images from a machine with Docker."""
    named = [
        image
        for path in (CHECKOUT / "vnf_packages/kubernetes/Files").rglob("*.yaml")
        for image in manifests.images_in(path.read_text())
    ]
    others = [*named, "docker.io/library/busybox:1"]
    version = CONFIG.kubernetes_version
    return _PUSH_PUBLISHED.format(version=version, others=" ".join(others), registry=registry)


def load_busybox_command() -> str:
    """Shell commands that leave the image busybox:1 in a machine's Docker engine."""
    if not CONFIG.kubernetes_mirror:
        return "sudo docker pull --quiet busybox:1"
    return (
        f"curl --silent --fail --output image.tar {mirror_url()}/images/busybox.tar\n"
        "image=$(sudo docker load --quiet --input image.tar | sed 's/^Loaded image: //')\n"
        'sudo docker tag "$image" busybox:1'
    )


# kubeadm names the images of its release. Each line of output keeps the SSH session alive.
_PUSH_PUBLISHED = """set -e
fetch() {{ curl --silent --show-error --fail --location --retry 3 "$@"; }}
release=v{version}
case $release in
*.*.*) ;;
*) release=$(fetch "https://dl.k8s.io/release/stable-${{release#v}}.txt") ;;
esac
kubeadm=https://dl.k8s.io/release/$release/bin/linux/$(dpkg --print-architecture)/kubeadm
fetch --output kubeadm "$kubeadm"
echo "$(fetch "$kubeadm.sha256")  kubeadm" | sha256sum --check --quiet
chmod +x kubeadm
images=$(./kubeadm config images list --kubernetes-version "$release")
for image in $images {others}; do
    sudo docker pull --quiet "$image"
    sudo docker tag "$image" "{registry}/${{image##*/}}"
    sudo docker push --quiet "{registry}/${{image##*/}}"
done
"""
