"""Images that Tacker uploads from a VNF package, without the properties that a cloud may want."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from openstack.connection import Connection

from tools.client import wait
from tools.client.config import cloud
from tools.client.log import log

_PATCH = {"Content-Type": "application/openstack-images-v2.1-json-patch"}
_PAUSE = 0.2  # seconds; between the upload and the server Tacker translates the VNFD


@contextlib.contextmanager
def given_properties(name: str, properties: Mapping[str, str]) -> Iterator[None]:
    """Give the images of a name these properties as soon as Glance has them, for a while."""
    connection = cloud()  # of the thread

    def give() -> None:
        for image in named(connection, name):
            lacking = {key: value for key, value in properties.items() if key not in image}
            if lacking:
                changes = [
                    {"op": "add", "path": f"/{key}", "value": value}
                    for key, value in lacking.items()
                ]
                path = f"/images/{image['id']}"
                connection.image.patch(path, json=changes, headers=_PATCH).raise_for_status()
                log(f"image {image['id']}, {image['status']}, gets {', '.join(lacking)}")

    with wait.meanwhile(give, _PAUSE):
        yield


def named(connection: Connection, name: str) -> list[dict[str, Any]]:
    """The images of a name, as Glance shows them."""
    found: list[dict[str, Any]] = connection.image.get(f"/images?name={name}").json()["images"]
    return found


def own_properties(connection: Connection, image_id: str) -> dict[str, str]:
    """The properties of an image that not every image has."""
    shown: dict[str, Any] = connection.image.get(f"/images/{image_id}").json()
    known = connection.image.get("/schemas/image").json()["properties"]
    return {key: value for key, value in shown.items() if key not in known}
