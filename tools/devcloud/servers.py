"""The servers of the cloud, as Nova shows them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import openstack
from openstack.connection import Connection

from tools.devcloud import openrc
from tools.devcloud.settings import Settings


@dataclass(frozen=True)
class Server:
    """A server for people to read; ``addresses`` as far as this machine reaches them first."""

    id: str
    name: str
    host: str
    status: str
    addresses: tuple[str, ...]


def find_all(settings: Settings) -> list[Server]:
    """Every server of the project."""
    return [
        Server(
            server.id,
            server.name,
            server.compute_host or "",
            server.status.lower(),
            # A floating IP stands behind the address that it leads to.
            tuple(entry["addr"] for net in server.addresses.values() for entry in reversed(net)),
        )
        for server in _connect(settings).compute.servers()
    ]


def consoles(settings: Settings) -> Iterator[tuple[str, str]]:
    """Name of each server and what it has printed as it booted."""
    cloud = _connect(settings)
    for server in cloud.compute.servers():
        shown = cloud.compute.get_server_console_output(server)
        yield f"{server.name}-{server.id[:8]}", shown["output"]


def _connect(settings: Settings) -> Connection:
    login: dict[str, Any] = {
        name.removeprefix("OS_").lower(): value
        for name, value in openrc.variables(settings).items()
        if name.startswith("OS_")
    }
    return openstack.connect(**login)
