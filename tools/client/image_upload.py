"""Uploads images from archives to a registry (OCI Distribution Specification 1.1).

Docker's engine would first unpack and then compress each image, which takes a minute for the images
of a cluster, and machines would have to decompress the layers. skopeo compresses layers, too.
"""

import hashlib
import io
import json
import tarfile
from typing import Any
from urllib.parse import urljoin

import requests

from tools.client.errors import ClientError
from tools.client.web import ask

_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_CONFIG = "application/vnd.docker.container.image.v1+json"
_LAYER = "application/vnd.docker.image.rootfs.diff.tar"  # not compressed


def upload(archive: bytes, registry: str) -> str:
    """Upload the image of an archive that ``docker save`` made; returns its short name.

    :param archive: an archive of one image with one name, whose layers are plain tars
    :param registry: ``host:port`` of a registry with plain HTTP and without a login
    :raises ClientError: with the answer of the registry, if it refuses the image
    """
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar, requests.Session() as session:
        (image,) = json.loads(_read(tar, "manifest.json"))
        (reference,) = image["RepoTags"]
        short = reference.rpartition("/")[2]
        name, _, tag = short.partition(":")
        base = f"http://{registry}/v2/{name}"
        manifest = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": _blob(session, base, _CONFIG, _read(tar, image["Config"])),
            "layers": [_blob(session, base, _LAYER, _read(tar, n)) for n in image["Layers"]],
        }
        body, headers = json.dumps(manifest).encode(), {"Content-Type": _MANIFEST}
        ask(session, "PUT", f"{base}/manifests/{tag}", data=body, headers=headers)
    return short


def _blob(session: requests.Session, base: str, media_type: str, content: bytes) -> dict[str, Any]:
    """Upload a blob in one piece; returns its descriptor."""
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    begun = ask(session, "POST", f"{base}/blobs/uploads/")
    place = urljoin(begun.url, begun.headers["Location"])
    headers = {"Content-Type": "application/octet-stream"}
    ask(session, "PUT", place, params={"digest": digest}, data=content, headers=headers)
    return {"mediaType": media_type, "size": len(content), "digest": digest}


def _read(tar: tarfile.TarFile, name: str) -> bytes:
    member = tar.extractfile(name)
    if member is None:
        raise ClientError(f"the archive's {name} is not a file")
    return member.read()
