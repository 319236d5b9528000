"""The cloud's provider networks, which are Docker networks."""

import hashlib
import ipaddress
from collections.abc import Iterator
from pathlib import Path

import docker

from tools.devcloud.errors import CloudError
from tools.devcloud.identity import Identity
from tools.devcloud.settings import Network

# Names that templates and requests give them.
NETWORKS = ("net0",)
CONTROLLER_HOST = 2  # number of the controller's address in each network
MIRROR_HOST = 3
_POOL = ipaddress.ip_network("10.192.0.0/14")


def ensure(client: docker.DockerClient, identity: Identity) -> tuple[Network, ...]:
    """Make the networks that are missing; returns all of them."""
    return tuple(
        _find(client, identity, name) or _create(client, identity, name) for name in NETWORKS
    )


def _find(client: docker.DockerClient, identity: Identity, name: str) -> Network | None:
    for network in client.networks.list(names=[_docker_name(identity, name)]):
        if network.name == _docker_name(identity, name):
            cidr = network.attrs["IPAM"]["Config"][0]["Subnet"]
            return Network(name, network.name, cidr)
    return None


def _create(client: docker.DockerClient, identity: Identity, name: str) -> Network:
    docker_name = _docker_name(identity, name)
    for cidr in _candidates(docker_name):
        pool = docker.types.IPAMPool(subnet=cidr)
        try:
            client.networks.create(
                docker_name,
                driver="bridge",
                ipam=docker.types.IPAMConfig(pool_configs=[pool]),
                labels=identity.labels,
            )
        except docker.errors.APIError as error:
            if "overlap" not in str(error.explanation).lower():
                raise
            continue
        return Network(name, docker_name, cidr)
    raise CloudError(f"no free /24 for a network is left in {_POOL}")


def _candidates(docker_name: str) -> Iterator[str]:
    """Subnets to try, starting at one that differs from checkout to checkout."""
    subnets = list(_POOL.subnets(new_prefix=24))
    start = int(hashlib.sha256(docker_name.encode()).hexdigest(), 16) % len(subnets)
    for number in range(len(subnets)):
        yield str(subnets[(start + number) % len(subnets)])


def _docker_name(identity: Identity, name: str) -> str:
    return f"{identity.name}-{name}"


def remove(client: docker.DockerClient, identity: Identity) -> None:
    """Remove every network of this cloud."""
    for name in NETWORKS:
        network = _find(client, identity, name)
        if network:
            client.networks.get(network.docker_name).remove()


def controller_address(network: Network) -> str:
    return str(ipaddress.ip_network(network.cidr)[CONTROLLER_HOST])


def mirror_address(network: Network) -> str:
    return str(ipaddress.ip_network(network.cidr)[MIRROR_HOST])


def host_nameservers() -> tuple[str, ...]:
    """The host's name servers, without those that only the host itself can reach.

    A container asks Docker's own server; a QEMU machine in it cannot.
    """
    # The second is systemd-resolved's list of the servers behind its own.
    for path in (Path("/etc/resolv.conf"), Path("/run/systemd/resolve/resolv.conf")):
        words = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        servers = [word[1] for word in words if word[:1] == ["nameserver"] and len(word) > 1]
        reachable = tuple(server for server in servers if not server.startswith(("127.", "::1")))
        if reachable:
            return reachable
    return ()
