"""Networks in Neutron: those of the machines, the external one, and the router between."""

import errno
import socket
from typing import Any

from openstack.connection import Connection

from tools.client.config import CONFIG
from tools.preflight.missing import Missing, openstack

_TENANT_CIDR = "10.20.0.0/24"
_ROUTER = "scenarios"
_NO_WAY = (errno.ENETUNREACH, errno.EHOSTUNREACH)
_PATIENCE = 3.0  # seconds


def missing(connection: Connection) -> list[Missing]:
    external = connection.network.find_network(CONFIG.external_network)
    tenant = connection.network.find_network(CONFIG.tenant_network)
    return [
        *_missing_machines_network(connection),
        *_missing_external(external),
        *_missing_tenant(connection, tenant, external),
    ]


def _missing_machines_network(connection: Connection) -> list[Missing]:
    """The network that Tacker and this machine reach. How, only its operator knows."""
    hint = (
        "An administrator makes a network that Tacker and this machine reach, or "
        "FUNCTIONAL_NETWORK names another one."
    )
    found, subnets = missing_of_machines(connection, CONFIG.network, hint)
    for subnet in subnets:
        found += _missing_way(subnet)
    return found


def missing_of_machines(
    connection: Connection, name: str, hint: str
) -> tuple[list[Missing], list[Any]]:
    """What a network lacks for machines, and its subnets.

    :param name: name or id of the network
    :param hint: what to do if there is none
    """
    network = connection.network.find_network(name)
    if network is None:
        return [Missing(f"there is no network {name}", hint=hint)], []
    found = _missing_share(connection, network)
    subnets = list(connection.network.subnets(network_id=network.id, ip_version=4))
    if not subnets:
        create = f"openstack subnet create --network {name} --subnet-range CIDR {name}"
        found.append(Missing(f"the network {name} has no subnet with IPv4", hint=create))
    for subnet in subnets:
        if not subnet.is_dhcp_enabled:
            command = openstack("subnet", "set", "--dhcp", subnet.id)
            found.append(Missing(f"the subnet {subnet.cidr} has no DHCP", (command,)))
    return found, subnets


def _missing_share(connection: Connection, network: Any) -> list[Missing]:
    if network.is_shared or network.project_id == connection.current_project_id:
        return []
    command = openstack("network", "set", "--share", network.name)
    return [Missing(f"the network {network.name} is not for the project", (command,))]


def _missing_way(subnet: Any) -> list[Missing]:
    if not subnet.gateway_ip or is_reachable(subnet.gateway_ip):
        return []
    what = f"this machine has no way to {subnet.gateway_ip}, the gateway of {subnet.cidr}"
    return [Missing(what, hint=f"sudo ip route add {subnet.cidr} via ROUTER")]


def is_reachable(address: str) -> bool:
    """Whether packets can be sent to an address: false only if the kernel, or a router, refuses.

    Most gateways serve nothing, and many do not answer: the first server shows more.
    """
    try:
        socket.create_connection((address, 22), timeout=_PATIENCE).close()
    except OSError as error:
        return error.errno not in _NO_WAY
    return True


def _missing_external(external: Any) -> list[Missing]:
    name = CONFIG.external_network
    if external is None:
        hint = "An administrator makes it, or FUNCTIONAL_EXTERNAL_NETWORK names another one."
        return [Missing(f"there is no network {name}, for floating IPs", hint=hint)]
    if external.is_router_external:
        return []
    command = openstack("network", "set", "--external", name)
    return [Missing(f"the network {name} gives no floating IPs", (command,))]


def _missing_tenant(connection: Connection, tenant: Any, external: Any) -> list[Missing]:
    """A network behind a router, without which its machines can have no floating IPs."""
    name = CONFIG.tenant_network
    gateway = ("router", "create", "--external-gateway", CONFIG.external_network, _ROUTER)
    if tenant is None:
        return [Missing(f"there is no network {name}", (
            openstack("network", "create", name),
            openstack("subnet", "create", "--network", name, "--subnet-range", _TENANT_CIDR, name),
            openstack(*gateway),
            openstack("router", "add", "subnet", _ROUTER, name),
        ))]
    found = _missing_share(connection, tenant)
    if external is None or _is_routed(connection, tenant, external):
        return found
    subnets = list(connection.network.subnets(network_id=tenant.id, ip_version=4))
    added = [openstack("router", "add", "subnet", _ROUTER, subnet.id) for subnet in subnets]
    what = f"no router is between the networks {name} and {CONFIG.external_network}"
    return [*found, Missing(what, (openstack(*gateway), *added))]


def _is_routed(connection: Connection, tenant: Any, external: Any) -> bool:
    routers = [
        router.id
        for router in connection.network.routers()
        if (router.external_gateway_info or {}).get("network_id") == external.id
    ]
    ports = connection.network.ports(network_id=tenant.id)
    return any(port.device_id in routers for port in ports)
