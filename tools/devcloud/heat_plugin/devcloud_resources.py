"""Heat resources of the embedded cloud, in place of Nova's and Neutron's.

Property and attribute names are those of the types they stand for; a property
that the embedded cloud does not know is refused by Heat as an unknown one.
"""

import functools
import uuid
from pathlib import Path
from typing import Any

import docker
from heat.engine import attributes, properties, resource

from tools.devcloud.compute import floating
from tools.devcloud.compute.ports import PortStore
from tools.devcloud.compute.servers import ServerRequest, Servers
from tools.devcloud.compute.table import Table
from tools.devcloud.compute.volumes import Volumes
from tools.devcloud.settings import Settings

_STATE = Path("/var/lib/devcloud")
_CONSOLES = Path("/var/log/devcloud/consoles")


@functools.cache
def _settings() -> Settings:
    return Settings.load()


@functools.cache
def _ports() -> PortStore:
    return PortStore(Table(_STATE / "ports.json"), _settings().networks)


@functools.cache
def _groups() -> Table:
    return Table(_STATE / "server-groups.json")


@functools.cache
def _volumes() -> Volumes:
    return Volumes(docker.from_env(timeout=300), _settings().name)


@functools.cache
def _servers() -> Servers:
    placements = Table(_STATE / "placements.json")
    client = docker.from_env(timeout=300)
    return Servers(
        client, _settings(), _ports(), _volumes(), _groups(), placements, _CONSOLES
    )


def _string(**options: Any) -> properties.Schema:
    return properties.Schema(properties.Schema.STRING, **options)


def _list(**options: Any) -> properties.Schema:
    return properties.Schema(properties.Schema.LIST, **options)


def _map(**options: Any) -> properties.Schema:
    return properties.Schema(properties.Schema.MAP, **options)


class Port(resource.Resource):
    """OS::Neutron::Port: an address in a network."""

    properties_schema = {
        "name": _string(),
        "network": _string(),
        "network_id": _string(),
        "fixed_ips": _list(),
        "allowed_address_pairs": _list(update_allowed=True),
        "security_groups": _list(update_allowed=True),
        "port_security_enabled": properties.Schema(properties.Schema.BOOLEAN),
        "device_owner": _string(),
    }
    attributes_schema = {
        "fixed_ips": attributes.Schema("Addresses and subnets."),
        "mac_address": attributes.Schema("MAC address."),
    }

    def handle_create(self) -> None:
        fixed = self.properties["fixed_ips"] or [{}]
        port = _ports().create(
            self.properties["network"] or self.properties["network_id"],
            fixed[0].get("ip_address"),
            name=self.properties["name"] or self.physical_resource_name(),
            allowed_address_pairs=self.properties["allowed_address_pairs"] or [],
        )
        self.resource_id_set(port.id)

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: Any) -> None:
        """Address pairs and security groups filter nothing here: nothing to change."""

    def handle_delete(self) -> None:
        if self.resource_id:
            _ports().delete(self.resource_id)

    def _show_resource(self) -> dict[str, Any]:
        port = _ports().get(self.resource_id)
        return port.show() if port else {}

    def _resolve_attribute(self, name: str) -> Any:
        return self._show_resource().get(name)


class FloatingIP(resource.Resource):
    """OS::Neutron::FloatingIP: an address of a network that leads to a port in another."""

    properties_schema = {
        "floating_network": _string(),
        "floating_network_id": _string(),
        "port_id": _string(),
    }
    attributes_schema = {"floating_ip_address": attributes.Schema("The address.")}

    def handle_create(self) -> None:
        network = self.properties["floating_network"] or self.properties["floating_network_id"]
        port_id = self.properties["port_id"]
        own = _ports().create(network)
        self.resource_id_set(own.id)
        target = _ports().get(port_id) if port_id else None
        if target:
            floating.connect(own.address, target.address)
            # Heat resolves properties only while it creates; and the port may go first.
            self.data_set("port_id", target.id)
            self.data_set("fixed_ip_address", target.address)

    def handle_delete(self) -> None:
        own = _ports().get(self.resource_id) if self.resource_id else None
        if own is None:
            return
        fixed = self.data().get("fixed_ip_address")
        if fixed:
            floating.disconnect(own.address, fixed)
        _ports().delete(own.id)

    def _show_resource(self) -> dict[str, Any]:
        own = _ports().get(self.resource_id)
        if own is None:
            return {}
        return {
            "id": own.id,
            "floating_ip_address": own.address,
            "floating_network_id": own.network,
            "port_id": self.data().get("port_id"),
            "fixed_ip_address": self.data().get("fixed_ip_address"),
            "status": "ACTIVE" if "port_id" in self.data() else "DOWN",
        }

    def _resolve_attribute(self, name: str) -> Any:
        return self._show_resource().get(name)


class ServerGroup(resource.Resource):
    """OS::Nova::ServerGroup: a policy for where its members run."""

    properties_schema = {"name": _string(), "policies": _list(default=["anti-affinity"])}

    def handle_create(self) -> None:
        group = {
            "id": str(uuid.uuid4()),
            "name": self.properties["name"] or self.physical_resource_name(),
            "policies": self.properties["policies"],
        }
        with _groups().changing() as groups:
            groups[group["id"]] = group
        self.resource_id_set(group["id"])

    def handle_delete(self) -> None:
        with _groups().changing() as groups:
            groups.pop(self.resource_id, None)

    def _show_resource(self) -> dict[str, Any]:
        group = _groups().read().get(self.resource_id)
        if group is None:
            return {}
        # Nova's API shows a list until microversion 2.63, then the one policy.
        policy = group["policies"][0]
        return {**group, "policy": policy, "members": _servers().members(self.resource_id)}


class Volume(resource.Resource):
    """OS::Cinder::Volume: a disk that QEMU machines can have."""

    properties_schema = {
        "name": _string(),
        "size": properties.Schema(properties.Schema.INTEGER, required=True),
    }
    attributes_schema = {"size": attributes.Schema("Size in GiB.")}

    def handle_create(self) -> None:
        name = self.properties["name"] or self.physical_resource_name()
        self.resource_id_set(_volumes().create(name, self.properties["size"]).id)

    def handle_delete(self) -> None:
        if self.resource_id:
            _volumes().delete(self.resource_id)

    def _show_resource(self) -> dict[str, Any]:
        holder = _servers().server_of_volume(self.resource_id)
        return _volumes().get(self.resource_id).show(holder)

    def _resolve_attribute(self, name: str) -> Any:
        return self._show_resource().get(name)


class Server(resource.Resource):
    """OS::Nova::Server: a container that behaves like a machine."""

    properties_schema = {
        "name": _string(),
        "image": _string(required=True),
        "flavor": _string(required=True),
        "networks": _list(required=True),
        "block_device_mapping_v2": _list(default=[]),
        "availability_zone": _string(),
        "scheduler_hints": _map(),
        "metadata": _map(update_allowed=True),
    }
    attributes_schema = {
        "first_address": attributes.Schema("The server's first address."),
        "addresses": attributes.Schema("Addresses by network."),
    }

    def handle_create(self) -> str:
        hints = self.properties["scheduler_hints"] or {}
        server_id = _servers().create(
            ServerRequest(
                name=self.properties["name"] or self.physical_resource_name(),
                image=self.properties["image"],
                flavor=self.properties["flavor"],
                ports=tuple(network["port"] for network in self.properties["networks"]),
                volumes=tuple(
                    mapping["volume_id"]
                    for mapping in self.properties["block_device_mapping_v2"]
                ),
                zone=self.properties["availability_zone"],
                group=hints.get("group"),
            )
        )
        self.resource_id_set(server_id)
        return server_id

    def check_create_complete(self, server_id: str) -> bool:
        return _servers().is_running(server_id)

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: Any) -> None:
        """Only metadata can change, and nothing here reads it."""

    def prepare_for_replace(self) -> None:
        # The server that takes this one's place uses the same ports.
        if self.resource_id:
            _servers().detach(self.resource_id)

    def handle_delete(self) -> None:
        if self.resource_id:
            _servers().delete(self.resource_id)

    def _show_resource(self) -> dict[str, Any]:
        return _servers().show(self.resource_id) or {}

    def _resolve_attribute(self, name: str) -> Any:
        shown = self._show_resource()
        if name == "first_address":
            addresses = [entry for entries in shown["addresses"].values() for entry in entries]
            return addresses[0]["addr"] if addresses else ""
        return shown.get(name)


def resource_mapping() -> dict[str, type]:
    """Called by Heat when it loads the plugin."""
    return {
        "Devcloud::Server": Server,
        "Devcloud::Volume": Volume,
        "Devcloud::ServerGroup": ServerGroup,
        "Devcloud::Port": Port,
        "Devcloud::FloatingIP": FloatingIP,
    }
