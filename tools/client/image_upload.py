"""Uploads images from archives to a registry, and copies images there.

The API is that of the OCI Distribution Specification 1.1.

Docker's engine would first unpack and then compress each image, which takes a minute for the images
of a cluster, and machines would have to decompress the layers. skopeo compresses layers, too.
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from typing import Any
from urllib.parse import urljoin

import requests

from tools.client.errors import ClientError
from tools.client.web import ask

_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_CONFIG = "application/vnd.docker.container.image.v1+json"
_LAYER = "application/vnd.docker.image.rootfs.diff.tar"  # not compressed


def upload(archive: bytes, registry: str) -> str:
    """Upload the images of an archive that ``docker save`` made; returns their short names.

    :param archive: an archive of images with one name each, whose layers are plain tars
    :param registry: ``host:port`` of a registry with plain HTTP and without a login
    :raises ClientError: with the answer of the registry, if it refuses an image
    """
    names = []
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar, requests.Session() as session:
        blobs = _Blobs(session, f"http://{registry}/v2")
        for image in json.loads(_read(tar, "manifest.json")):
            (reference,) = image["RepoTags"]
            short = reference.rpartition("/")[2]
            name, _, tag = short.partition(":")
            manifest = {
                "schemaVersion": 2,
                "mediaType": _MANIFEST,
                "config": blobs.upload(name, _CONFIG, _read(tar, image["Config"])),
                "layers": [blobs.upload(name, _LAYER, _read(tar, n)) for n in image["Layers"]],
            }
            body, headers = json.dumps(manifest).encode(), {"Content-Type": _MANIFEST}
            url = f"{blobs.base}/{name}/manifests/{tag}"
            ask(session, "PUT", url, data=body, headers=headers)
            names.append(short)
    return ", ".join(names)


def copy_images(registry: str, path: str, is_wanted: Callable[[str], bool]) -> list[str]:
    """Give images of a registry names below a path, too; returns the names with their tags.

    :param registry: ``host:port`` of a registry with plain HTTP and without a login
    :param is_wanted: tells by an image's short name whether to copy the image
    :raises ClientError: with the answer of the registry, if it refuses a copy
    """
    base, copied = f"http://{registry}/v2", []
    with requests.Session() as session:
        names = ask(session, "GET", f"{base}/_catalog").json()["repositories"]
        for name in (n for n in names if "/" not in n and is_wanted(n)):
            for tag in ask(session, "GET", f"{base}/{name}/tags/list").json()["tags"]:
                _copy(session, base, name, f"{path}/{name}", tag)
                copied.append(f"{path}/{name}:{tag}")
    return copied


def _copy(session: requests.Session, base: str, name: str, to: str, tag: str) -> None:
    """Copy an image: the registry has its blobs, so that only the manifest is sent."""
    headers = {"Accept": _MANIFEST}
    manifest = ask(session, "GET", f"{base}/{name}/manifests/{tag}", headers=headers)
    read = manifest.json()
    for blob in (read["config"], *read["layers"]):
        params = {"mount": blob["digest"], "from": name}
        answer = ask(session, "POST", f"{base}/{to}/blobs/uploads/", params=params)
        if answer.status_code != requests.codes.created:
            raise ClientError(f"{base}/{to}: {blob['digest']} of {name} is not mounted")
    headers = {"Content-Type": read["mediaType"]}
    ask(session, "PUT", f"{base}/{to}/manifests/{tag}", data=manifest.content, headers=headers)


class _Blobs:
    """Uploads the blobs of images, each once."""

    def __init__(self, session: requests.Session, base: str) -> None:
        self.session, self.base = session, base
        self._names: dict[str, list[str]] = {}  # of images that have a blob, by its digest

    def upload(self, name: str, media_type: str, content: bytes) -> dict[str, Any]:
        """Upload a blob in one piece, or mount it from another image; returns its descriptor."""
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        names = self._names.setdefault(digest, [])
        if name not in names:
            mount = {"mount": digest, "from": names[0]} if names else {}
            begun = ask(self.session, "POST", f"{self.base}/{name}/blobs/uploads/", params=mount)
            if begun.status_code != requests.codes.created:
                place, params = urljoin(begun.url, begun.headers["Location"]), {"digest": digest}
                headers = {"Content-Type": "application/octet-stream"}
                ask(self.session, "PUT", place, params=params, data=content, headers=headers)
            names.append(name)
        return {"mediaType": media_type, "size": len(content), "digest": digest}


def _read(tar: tarfile.TarFile, name: str) -> bytes:
    member = tar.extractfile(name)
    if member is None:
        raise ClientError(f"the archive's {name} is not a file")
    return member.read()
