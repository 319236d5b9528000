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
