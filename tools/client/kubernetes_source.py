"""Where clusters get Kubernetes from: the cloud's own mirror, or the Kubernetes project."""

import urllib.request
from pathlib import Path
from typing import Any

from tools.client.config import CONFIG
from tools.client.log import step
from tools.client.machines import Remote

_KEY = "Files/kubernetes.asc"


def repository_key() -> dict[str, Path]:
    """The key of the mirror's package repository, by its path in the VNF package."""
    if not CONFIG.kubernetes_mirror:
        return {}
    CONFIG.build.mkdir(parents=True, exist_ok=True)
    path = CONFIG.build / "kubernetes.asc"
    url = f"{CONFIG.kubernetes_mirror}/apt/Release.key"
    urllib.request.urlretrieve(url, path)  # noqa: S310 - the mirror is the configuration's
    return {_KEY: path}


def source_params(image_repository: str | None) -> dict[str, Any]:
    """The driver's parameters that name the mirror, and the repository of the images."""
    if not CONFIG.kubernetes_mirror:
        return {"image_repository": image_repository}
    return {
        "kubernetes_version": CONFIG.kubernetes_version,
        "package_repository": {"url": f"{CONFIG.kubernetes_mirror}/apt", "key_path": _KEY},
        "image_repository": image_repository,
    }


def push_images(machine: Remote, registry: str) -> None:
    """Push the mirror's images from a machine with Docker into a registry (host and port)."""
    with step(f"push the images of Kubernetes to {registry}"):
        machine.allow_plain_http(registry)
        machine.run(_PUSH.format(mirror=CONFIG.kubernetes_mirror, registry=registry))


_PUSH = """set -e
mkdir -p ~/images && cd ~/images
curl --silent --fail --remote-name {mirror}/images/SHA256SUMS
while read -r _ name; do
    curl --silent --fail --remote-name "{mirror}/images/$name"
done <SHA256SUMS
sha256sum --check --quiet SHA256SUMS
for archive in *.tar; do
    image=$(sudo docker load --quiet --input "$archive" | sed 's/^Loaded image: //')
    sudo docker tag "$image" "{registry}/${{image##*/}}"
    sudo docker push --quiet "{registry}/${{image##*/}}"
done
"""
