"""Facts about the cloud's networks for the scenarios."""

import ipaddress
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from openstack.connection import Connection

from tools.client.errors import ClientError


def cidr(connection: Connection, name: str) -> str:
    """The CIDR of a network's first IPv4 subnet."""
    return str(_subnet(connection, name).cidr)


def prefixes_of_machines(connection: Connection, name: str) -> list[str]:
    """CIDRs that cover the addresses which machines get in a network's first IPv4 subnet.

    Other addresses of the subnet may be those of a router, or of the cloud's services.
    """
    return [
        str(prefix)
        for pool in _subnet(connection, name).allocation_pools
        for prefix in ipaddress.summarize_address_range(
            ipaddress.IPv4Address(pool["start"]), ipaddress.IPv4Address(pool["end"])
        )
    ]


@contextmanager
def name_servers(connection: Connection, name: str, servers: Sequence[str]) -> Iterator[None]:
    """Let machines that are made during the block ask these name servers."""
    subnet = _subnet(connection, name)
    before = list(subnet.dns_nameservers)
    connection.network.update_subnet(subnet.id, dns_nameservers=list(servers))
    try:
        yield
    finally:
        connection.network.update_subnet(subnet.id, dns_nameservers=before)


def _subnet(connection: Connection, name: str) -> Any:
    """The network's first IPv4 subnet."""
    network = connection.network.find_network(name, ignore_missing=False)
    subnets = connection.network.subnets(network_id=network.id, ip_version=4)
    for subnet in sorted(subnets, key=lambda subnet: str(subnet.created_at)):
        return subnet
    raise ClientError(f"the network {name} has no subnet with IPv4")


def free_address(connection: Connection, name: str) -> str:
    """An IPv4 address of a network that Neutron gives away at the moment."""
    network = connection.network.find_network(name, ignore_missing=False)
    port = connection.network.create_port(network_id=network.id)
    connection.network.delete_port(port)
    addresses = [str(fixed["ip_address"]) for fixed in port.fixed_ips]
    return next(address for address in addresses if ":" not in address)
