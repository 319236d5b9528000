"""What the scenarios need to know of the cloud's networks."""

from openstack.connection import Connection

from tools.client.errors import ClientError


def cidr(connection: Connection, name: str) -> str:
    """The IPv4 addresses of a network, in CIDR notation: those of its first subnet with IPv4."""
    network = connection.network.find_network(name, ignore_missing=False)
    subnets = connection.network.subnets(network_id=network.id, ip_version=4)
    for subnet in sorted(subnets, key=lambda found: str(found.created_at)):
        return str(subnet.cidr)
    raise ClientError(f"the network {name} has no subnet with IPv4")
