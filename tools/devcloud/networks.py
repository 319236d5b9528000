"""The cloud's provider network, which is a Docker network."""

import hashlib
import ipaddress
from collections.abc import Iterator
from pathlib import Path

import docker

from tools.devcloud.errors import CloudError
from tools.devcloud.identity import Identity
from tools.devcloud.settings import Network

CONTROLLER_HOST = 2  # number of the controller's address in the network
MIRROR_HOST = 3
# Of the addresses that Neutron gives to servers, and as floating IPs.
_FIRST_SERVER, _LAST_SERVER = 10, 250
_POOL = ipaddress.ip_network("10.192.0.0/14")


def ensure(client: docker.DockerClient, identity: Identity, with_ethtool: str) -> Network:
    """The network, which is made if it is missing.

    :param with_ethtool: an image that has ethtool, which the host may not have
    """
    network = _find(client, identity) or _create(client, identity)
    # Open vSwitch spoils the checksums of packets whose address it translates, to floating IPs and
    # back, if it gets them half computed as the host's interfaces would do it. Only who forwards
    # such a packet notices: a NodePort for a pod on another node.
    client.containers.run(
        with_ethtool,
        ["--offload", f"br-{client.networks.get(network.docker_name).id[:12]}", "tx", "off"],
        entrypoint=["ethtool"],
        network_mode="host",
        cap_add=["NET_ADMIN"],
        remove=True,
    )
    return network


def _find(client: docker.DockerClient, identity: Identity) -> Network | None:
    for network in client.networks.list(names=[identity.network]):
        if network.name == identity.network:
            cidr = network.attrs["IPAM"]["Config"][0]["Subnet"]
            return Network(network.name, cidr)
    return None


def _create(client: docker.DockerClient, identity: Identity) -> Network:
    for cidr in _candidates(identity.network):
        pool = docker.types.IPAMPool(subnet=cidr, gateway=_address(cidr, 1))
        try:
            client.networks.create(
                identity.network,
                driver="bridge",
                ipam=docker.types.IPAMConfig(pool_configs=[pool]),
                labels=identity.labels,
            )
        except docker.errors.APIError as error:
            if "overlap" not in str(error.explanation).lower():
                raise
            continue
        return Network(identity.network, cidr)
    raise CloudError(f"no free /24 for a network is left in {_POOL}")


def _candidates(docker_name: str) -> Iterator[str]:
    """Subnets to try, starting at one that differs from checkout to checkout."""
    subnets = list(_POOL.subnets(new_prefix=24))
    start = int(hashlib.sha256(docker_name.encode()).hexdigest(), 16) % len(subnets)
    for number in range(len(subnets)):
        yield str(subnets[(start + number) % len(subnets)])


def remove(client: docker.DockerClient, identity: Identity) -> None:
    """Remove the network of this cloud."""
    network = _find(client, identity)
    if network:
        client.networks.get(network.docker_name).remove()


def _address(cidr: str, number: int) -> str:
    return str(ipaddress.ip_network(cidr)[number])


def gateway(network: Network) -> str:
    """Address of the machine itself, which forwards what leaves the network."""
    return _address(network.cidr, 1)


def controller_address(network: Network) -> str:
    return _address(network.cidr, CONTROLLER_HOST)


def mirror_address(network: Network) -> str:
    return _address(network.cidr, MIRROR_HOST)


def server_addresses(network: Network) -> tuple[str, str]:
    """The first and the last address that Neutron gives away."""
    return _address(network.cidr, _FIRST_SERVER), _address(network.cidr, _LAST_SERVER)


def host_nameservers() -> tuple[str, ...]:
    """The host's name servers, without those that only the host itself can reach.

    Servers ask them, as the subnets in Neutron say.
    """
    # The second is systemd-resolved's list of the servers behind its own.
    for path in (Path("/etc/resolv.conf"), Path("/run/systemd/resolve/resolv.conf")):
        words = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        servers = [word[1] for word in words if word[:1] == ["nameserver"] and len(word) > 1]
        reachable = tuple(server for server in servers if not server.startswith(("127.", "::1")))
        if reachable:
            return reachable
    return ()
