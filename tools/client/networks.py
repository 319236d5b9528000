"""Facts about the cloud's networks for the scenarios."""

from openstack.connection import Connection

from tools.client.errors import ClientError


def cidr(connection: Connection, name: str) -> str:
    """The CIDR of a network's first IPv4 subnet."""
    network = connection.network.find_network(name, ignore_missing=False)
    subnets = connection.network.subnets(network_id=network.id, ip_version=4)
    for subnet in sorted(subnets, key=lambda subnet: str(subnet.created_at)):
        return str(subnet.cidr)
    raise ClientError(f"the network {name} has no subnet with IPv4")


def free_address(connection: Connection, name: str) -> str:
    """An IPv4 address of a network that Neutron gives away at the moment."""
    network = connection.network.find_network(name, ignore_missing=False)
    port = connection.network.create_port(network_id=network.id)
    connection.network.delete_port(port)
    addresses = [str(fixed["ip_address"]) for fixed in port.fixed_ips]
    return next(address for address in addresses if ":" not in address)
