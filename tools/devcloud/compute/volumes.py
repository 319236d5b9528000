"""Volumes: Docker volumes that hold one disk image each."""

import uuid
from dataclasses import dataclass
from typing import Any

import docker

from tools.devcloud.identity import LABEL

_ID, _SIZE, _NAME = "devcloud.volume", "devcloud.size", "devcloud.name"


class VolumeNotFound(Exception):
    """A server asks for a volume that does not exist; worded as Cinder words it."""


@dataclass(frozen=True)
class Volume:
    """A volume; ``size`` in GiB, ``docker_name`` is where its disk image lies."""

    id: str
    name: str
    size: int
    docker_name: str

    def show(self, server_id: str | None) -> dict[str, Any]:
        """Attributes under Cinder's names."""
        attachments = [{"server_id": server_id, "volume_id": self.id}] if server_id else []
        return {
            "id": self.id,
            "name": self.name,
            "size": self.size,
            "status": "in-use" if server_id else "available",
            "attachments": attachments,
        }


class Volumes:
    """The cloud's volumes, found by their id."""

    def __init__(self, client: docker.DockerClient, cloud: str) -> None:
        self._client = client
        self._cloud = cloud

    def create(self, name: str, size: int) -> Volume:
        volume_id = str(uuid.uuid4())
        labels = {LABEL: self._cloud, _ID: volume_id, _NAME: name, _SIZE: str(size)}
        created = self._client.volumes.create(self._docker_name(volume_id), labels=labels)
        return Volume(volume_id, name, size, created.name)

    def get(self, volume_id: str) -> Volume:
        """:raises VolumeNotFound:"""
        try:
            found = self._client.volumes.get(self._docker_name(volume_id))
        except docker.errors.NotFound:
            raise VolumeNotFound(f"Volume {volume_id} could not be found.") from None
        labels = found.attrs["Labels"]
        return Volume(volume_id, labels[_NAME], int(labels[_SIZE]), found.name)

    def delete(self, volume_id: str) -> None:
        """Remove a volume; one that is gone is fine, one in use is an error."""
        try:
            self._client.volumes.get(self._docker_name(volume_id)).remove()
        except docker.errors.NotFound:
            return

    def _docker_name(self, volume_id: str) -> str:
        return f"{self._cloud}-volume-{volume_id}"
