"""Ports: an address and a MAC in a network, reserved until they are deleted."""

import ipaddress
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from tools.devcloud.compute.table import Table
from tools.devcloud.settings import Network

# Below: the gateway and the controller. Above: Docker's own choice, if any.
FIRST_HOST, LAST_HOST = 10, 250


class PortError(Exception):
    """A port cannot be made as asked."""


@dataclass
class Port:
    """A port as Neutron would show it; ``address`` is its one fixed IP."""

    id: str
    network: str
    address: str
    name: str = ""
    device_id: str = ""
    allowed_address_pairs: list[dict[str, str]] = field(default_factory=list)

    @property
    def mac(self) -> str:
        octets = ipaddress.IPv4Address(self.address).packed
        return "02:42:" + ":".join(f"{octet:02x}" for octet in octets)

    def show(self) -> dict[str, Any]:
        """Attributes under Neutron's names."""
        return {
            "id": self.id,
            "name": self.name,
            "network_id": self.network,
            "fixed_ips": [{"subnet_id": f"{self.network}-subnet", "ip_address": self.address}],
            "mac_address": self.mac,
            "device_id": self.device_id,
            "allowed_address_pairs": self.allowed_address_pairs,
            "status": "ACTIVE" if self.device_id else "DOWN",
            "admin_state_up": True,
        }


class PortStore:
    """All ports of the cloud."""

    def __init__(self, table: Table, networks: tuple[Network, ...]) -> None:
        self._table = table
        self._networks = {network.name: network for network in networks}

    def create(self, network: str, address: str | None = None, **values: Any) -> Port:
        """Reserve ``address``, or the lowest free one, in ``network``."""
        if network not in self._networks:
            known = ", ".join(sorted(self._networks))
            raise PortError(f"Unable to find network with name or id '{network}'. Known: {known}")
        with self._changing() as ports:
            taken = {port.address for port in ports.values()}
            chosen = self._choose(network, address, taken)
            port = Port(str(uuid.uuid4()), network, chosen, **values)
            ports[port.id] = port
            return port

    def _choose(self, network: str, wanted: str | None, taken: set[str]) -> str:
        subnet = ipaddress.ip_network(self._networks[network].cidr)
        if wanted:
            if ipaddress.ip_address(wanted) not in subnet:
                raise PortError(f"IP address {wanted} is not a valid IP for {subnet}.")
            if wanted in taken:
                raise PortError(f"IP address {wanted} already allocated in network {network}")
            return wanted
        for number in range(FIRST_HOST, LAST_HOST + 1):
            address = str(subnet[number])
            if address not in taken:
                return address
        raise PortError(f"No more IP addresses available on network {network}.")

    def get(self, port_id: str) -> Port | None:
        with self._changing() as ports:
            return ports.get(port_id)

    def bind(self, port_id: str, device_id: str) -> Port:
        """Say which server uses the port (empty: none)."""
        with self._changing() as ports:
            if port_id not in ports:
                raise PortError(f"Port {port_id} could not be found.")
            ports[port_id].device_id = device_id
            return ports[port_id]

    def delete(self, port_id: str) -> None:
        with self._changing() as ports:
            ports.pop(port_id, None)

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Port]]:
        with self._table.changing() as records:
            ports = {key: Port(**record) for key, record in records.items()}
            yield ports
            records.clear()
            records.update({key: asdict(port) for key, port in ports.items()})
