"""Servers: containers made, shown and removed as Nova does with machines."""

import contextlib
import json
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import docker

from tools.devcloud.compute import catalog, placement
from tools.devcloud.compute.ports import Port, PortStore
from tools.devcloud.compute.table import Table
from tools.devcloud.compute.volumes import Volume, Volumes
from tools.devcloud.identity import LABEL
from tools.devcloud.machine import Attachment, Machine, create
from tools.devcloud.settings import Settings

SERVER_LABEL = "devcloud.server"  # the server's id
_FACTS_LABEL = "devcloud.facts"  # JSON of what Nova would know of it
_CONSOLE_LINES = 2000
# Folders that need a real file system below them, not Docker's layers.
_CONTAINER = {
    "disks": ("/var/lib/docker", "/var/lib/containerd", "/var/lib/kubelet", "/var/lib/etcd")
}


class GroupNotFound(Exception):
    """A server asks for a group that does not exist; worded as Nova words it."""


class VolumeNotSupported(Exception):
    """A container has no disks to attach."""

    def __init__(self, image: str) -> None:
        super().__init__(f"servers of image {image} are containers and take no volumes here")


@dataclass(frozen=True)
class ServerRequest:
    """What a template asks for; ports, volumes and server group by their ids."""

    name: str
    image: str
    flavor: str
    ports: tuple[str, ...]
    volumes: tuple[str, ...] = ()
    zone: str | None = None
    group: str | None = None


class Servers:
    """The cloud's servers, found by their id; the consoles of those deleted are kept."""

    def __init__(
        self,
        client: docker.DockerClient,
        settings: Settings,
        ports: PortStore,
        volumes: Volumes,
        groups: Table,
        placements: Table,
        consoles: Path,
    ) -> None:
        self._client = client
        self._settings = settings
        self._ports = ports
        self._volumes = volumes
        self._groups = groups
        self._placements = placements
        self._consoles = consoles

    def create(self, request: ServerRequest) -> str:
        """Start a server and return its id."""
        image = catalog.find(request.image)
        volumes = [self._volumes.get(volume) for volume in request.volumes]
        if volumes and not image.virtual_machine:
            raise VolumeNotSupported(request.image)
        server_id = str(uuid.uuid4())
        try:
            create(self._client, self._machine(server_id, request, volumes))
        except BaseException:
            self._release(server_id, request.ports)
            raise
        return server_id

    def _machine(self, server_id: str, request: ServerRequest, volumes: list[Volume]) -> Machine:
        """The container of a server, which takes its ports and its host."""
        bound = [self._ports.bind(port, server_id) for port in request.ports]
        facts = {
            "name": request.name,
            "image": request.image,
            "flavor": request.flavor,
            "host": self._place(server_id, request),
            "group": request.group,
            "ports": list(request.ports),
            "volumes": list(request.volumes),
        }
        image = catalog.find(request.image)
        return Machine(
            name=f"{self._settings.name}-{server_id[:8]}",
            hostname=hostname_of(request.name),
            image=image.docker_tag,
            labels={
                LABEL: self._settings.name,
                SERVER_LABEL: server_id,
                _FACTS_LABEL: json.dumps(facts),
            },
            attachments=[self._attachment(port) for port in bound],
            drop_capabilities=self._settings.drop_capabilities,
            **(self._virtual(request, volumes) if image.virtual_machine else _CONTAINER),
        )

    def _release(self, server_id: str, port_ids: Sequence[str]) -> None:
        """Give back the host and the ports that a server had."""
        with self._placements.changing() as placements:
            placements.pop(server_id, None)
        for port_id in port_ids:
            port = self._ports.get(port_id)
            if port and port.device_id == server_id:
                self._ports.bind(port_id, "")

    def _virtual(self, request: ServerRequest, volumes: list[Volume]) -> dict[str, Any]:
        """What a QEMU machine has that a container has not."""
        return {
            "disks": ("/disk",),
            "binds": tuple(f"{volume.docker_name}:/volumes/{volume.id}" for volume in volumes),
            "environment": {
                "DEVCLOUD_HOSTNAME": hostname_of(request.name),
                "DEVCLOUD_NAMESERVERS": " ".join(self._settings.nameservers),
                "DEVCLOUD_VOLUMES": " ".join(f"{volume.id}:{volume.size}" for volume in volumes),
            },
        }

    def _place(self, server_id: str, request: ServerRequest) -> str:
        """Choose and take a host; servers that are made at the same time see each other."""
        spread = request.group and "anti-affinity" in self._policies(request.group)
        with self._placements.changing() as placements:
            everyone = placements.values()
            excluded = {p["host"] for p in everyone if spread and p["group"] == request.group}
            used = [p["host"] for p in everyone]
            host = placement.choose_host(used, request.zone, excluded)
            placements[server_id] = {"host": host, "group": request.group}
            return host

    def _policies(self, group: str) -> list[str]:
        groups = self._groups.read()
        if group not in groups:
            raise GroupNotFound(f"Instance group {group} could not be found.")
        policies: list[str] = groups[group]["policies"]
        return policies

    def _attachment(self, port: Port) -> Attachment:
        return Attachment(self._docker_network(port.network), port.address, port.mac)

    def _docker_network(self, name: str) -> str:
        return next(n.docker_name for n in self._settings.networks if n.name == name)

    def is_running(self, server_id: str) -> bool:
        container = self._find(server_id)
        return container is not None and container.status == "running"

    def show(self, server_id: str) -> dict[str, Any] | None:
        """Attributes under Nova's names, or None when there is no such server."""
        container = self._find(server_id)
        if container is None:
            return None
        facts = _facts(container)
        return {
            "id": server_id,
            "name": facts["name"],
            "status": "ACTIVE" if container.status == "running" else "SHUTOFF",
            "image": {"id": facts["image"]},
            "flavor": {"original_name": facts["flavor"]},
            "addresses": self._addresses(facts["ports"]),
            "OS-EXT-SRV-ATTR:host": facts["host"],
            "OS-EXT-SRV-ATTR:hypervisor_hostname": facts["host"],
            "OS-EXT-AZ:availability_zone": placement.HOSTS[facts["host"]],
            "server_groups": [facts["group"]] if facts["group"] else [],
            "os-extended-volumes:volumes_attached": [{"id": id_} for id_ in facts["volumes"]],
        }

    def members(self, group: str) -> list[str]:
        """Ids of the servers in a server group."""
        placements = self._placements.read()
        return [server for server, placed in placements.items() if placed["group"] == group]

    def server_of_volume(self, volume_id: str) -> str | None:
        """Id of the server that a volume is attached to."""
        for container in _servers_of(self._client, self._settings.name):
            if volume_id in _facts(container)["volumes"]:
                return str(container.labels[SERVER_LABEL])
        return None

    def _addresses(self, port_ids: list[str]) -> dict[str, list[dict[str, Any]]]:
        addresses: dict[str, list[dict[str, Any]]] = {}
        for port in filter(None, map(self._ports.get, port_ids)):
            addresses.setdefault(port.network, []).append(
                {
                    "addr": port.address,
                    "version": 4,
                    "OS-EXT-IPS:type": "fixed",
                    "OS-EXT-IPS-MAC:mac_addr": port.mac,
                }
            )
        return addresses

    def detach(self, server_id: str) -> None:
        """Stop a server and take its ports away, for the one that replaces it."""
        container = self._find(server_id)
        if container is None:
            return
        try:
            container.kill()
        except docker.errors.APIError as error:
            if error.status_code != HTTPStatus.CONFLICT:  # that one does not run any more
                raise
        for port in _facts(container)["ports"]:
            bound = self._ports.get(port)
            if bound:
                network = self._client.networks.get(self._docker_network(bound.network))
                network.disconnect(container, force=True)

    def delete(self, server_id: str) -> None:
        """Remove a server and its disks; a server that is gone is fine."""
        container = self._find(server_id)
        ports = _facts(container)["ports"] if container else ()
        if container:
            with contextlib.suppress(docker.errors.NotFound):
                name, text = _console(container)
                self._consoles.mkdir(parents=True, exist_ok=True)
                (self._consoles / name).write_bytes(text)
                container.remove(force=True, v=True)
        self._release(server_id, ports)

    def _find(self, server_id: str) -> Any:
        label = f"{SERVER_LABEL}={server_id}"
        found = self._client.containers.list(all=True, filters={"label": label})
        return found[0] if found else None


def hostname_of(server_name: str) -> str:
    """Host name that Nova would give: of letters, digits and inner hyphens, 63 at most."""
    return re.sub(r"[^a-z0-9.-]+", "-", server_name.lower())[:63].strip(".-") or "server"


def describe_all(client: docker.DockerClient, cloud: str) -> list[dict[str, str]]:
    """Every server of a cloud as seen from the host, for people to read."""
    return [_describe(container) for container in _servers_of(client, cloud)]


def consoles(client: docker.DockerClient, cloud: str) -> dict[str, bytes]:
    """What the servers of a cloud have printed as they booted, by the names of files for it."""
    return dict(map(_console, _servers_of(client, cloud)))


def _servers_of(client: docker.DockerClient, cloud: str) -> Any:
    label = [f"{LABEL}={cloud}", SERVER_LABEL]
    return client.containers.list(all=True, filters={"label": label})


def _console(container: Any) -> tuple[str, bytes]:
    name = f"{hostname_of(_facts(container)['name'])}-{container.labels[SERVER_LABEL][:8]}.log"
    return name, container.logs(tail=_CONSOLE_LINES, timestamps=True)


def _describe(container: Any) -> dict[str, str]:
    facts = _facts(container)
    networks = container.attrs["NetworkSettings"]["Networks"].values()
    addresses = [(network["IPAMConfig"] or {}).get("IPv4Address", "") for network in networks]
    return {
        "id": container.labels[SERVER_LABEL],
        "name": facts["name"],
        "host": facts["host"],
        "status": container.status,
        "addresses": ",".join(addresses),
    }


def _facts(container: Any) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(container.labels[_FACTS_LABEL])
    return facts
