"""Stacks in Heat: reads stacks of VNFs, and makes stacks of test machines."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from openstack.connection import Connection

from mgmt_drivers.inventory import Placement
from tools.client import wait
from tools.client.config import CONFIG
from tools.client.errors import ClientError
from tools.client.log import step
from tools.client.machines import Remote
from tools.client.names import unique

_SSH = 22
_PORT, _FLOATING_IP = "OS::Neutron::Port", "OS::Neutron::FloatingIP"


@dataclass(frozen=True)
class Resource:
    """A resource of a stack in Heat's list."""

    stack: str  # path of the stack in Heat's API
    name: str
    type: str
    status: str
    reason: str
    id: str  # physical id
    created: str  # time of creation in ISO 8601

    def attributes(self, connection: Connection) -> dict[str, Any]:
        """Read the attributes of the resource from Heat."""
        answer = connection.orchestration.get(f"{self.stack}/resources/{self.name}").json()
        attributes: dict[str, Any] = answer["resource"]["attributes"]
        return attributes


def resources(connection: Connection, vnf_id: str) -> list[Resource]:
    """The resources of all stacks of a VNF."""
    return [
        resource
        for path in _stacks(connection, vnf_id).values()
        for resource in _resources(connection, path)
    ]


def _resources(connection: Connection, stack: str) -> list[Resource]:
    listed = connection.orchestration.get(f"{stack}/resources").json()
    return [
        Resource(
            stack,
            resource["resource_name"],
            resource["resource_type"],
            resource["resource_status"],
            resource["resource_status_reason"],
            resource["physical_resource_id"],
            resource["creation_time"],
        )
        for resource in listed.get("resources", ())  # a deleted stack has none
    ]


def physical_id(connection: Connection, stack_id: str, name: str) -> str:
    """The physical id of one resource of a stack."""
    return _resource(connection, stack_id, name).id


def members(connection: Connection, stack_id: str, group: str) -> list[str]:
    """Ids of the stacks in a scaling group of a stack, the oldest first."""
    made = physical_id(connection, stack_id, group)
    path = _path(connection, made)
    listed = connection.orchestration.get(f"{path}/resources").json().get("resources", ())
    complete = [member for member in listed if member["resource_status"].endswith("COMPLETE")]
    complete.sort(key=lambda member: (member["creation_time"], member["resource_name"]))
    return [member["physical_resource_id"] for member in complete]


def _resource(connection: Connection, stack_id: str, name: str) -> Resource:
    listed = _resources(connection, _path(connection, stack_id))
    named = [resource for resource in listed if resource.name == name]
    if not named:
        raise ClientError(f"stack {stack_id} has no resource {name}")
    return named[0]


def _path(connection: Connection, stack_id: str) -> str:
    """A stack's path in Heat's API."""
    # With outputs, Heat would need minutes to show a stack.
    stack = connection.orchestration.get_stack(stack_id, resolve_outputs=False)
    return f"/stacks/{stack.name}/{stack.id}"


def address(connection: Connection, stack_id: str, port: str) -> str:
    """The fixed address of a port resource."""
    return _fixed_address(_resource(connection, stack_id, port).attributes(connection))


def _fixed_address(port: dict[str, Any]) -> str:
    """The first IPv4 address: a network may have IPv6 addresses, too, in any order."""
    addresses = (fixed["ip_address"] for fixed in port["fixed_ips"])
    return next(address for address in addresses if ":" not in address)


def _stacks(connection: Connection, vnf_id: str) -> dict[str, str]:
    """The paths of a VNF's stacks in Heat's API, by id.

    Nested stacks, and stacks that Tacker has forgotten, are included.
    """
    listed = connection.orchestration.get("/stacks?show_nested=true").json()["stacks"]
    return {
        stack["id"]: f"/stacks/{stack['stack_name']}/{stack['id']}"
        for stack in listed
        if vnf_id in stack["stack_name"]
    }


def stack_ids(connection: Connection, vnf_id: str) -> list[str]:
    """Ids of a VNF's stacks."""
    return list(_stacks(connection, vnf_id))


def delete_vnf_stack(connection: Connection, vnf_id: str) -> None:
    """Delete a VNF's stack that Tacker has forgotten, as an operator would."""
    with step(f"delete the stack of VNF {vnf_id}"):
        connection.orchestration.delete_stack(f"vnflcm_{vnf_id}")
        await_deletion(connection, vnf_id)


def delete_failed(connection: Connection, vnf_id: str) -> None:
    """Delete a VNF's stack again that Heat could not delete, as an operator would.

    Tacker's v1 API, asked to retry, takes the old DELETE_FAILED for the end of the new deletion.
    """
    name = f"vnflcm_{vnf_id}"
    stack = connection.orchestration.find_stack(name, resolve_outputs=False)
    if stack and stack.status == "DELETE_FAILED":
        delete_vnf_stack(connection, vnf_id)


def await_deletion(connection: Connection, vnf_id: str) -> None:
    """Wait until a VNF has no stack."""
    what = f"the deletion of the stacks of VNF {vnf_id}"
    wait.until(lambda: stack_ids(connection, vnf_id), lambda left: not left, 300, what)


def addresses_of_port(connection: Connection, vnf_id: str, name: str) -> list[str]:
    """Addresses of all ports of a name in a VNF's stacks."""
    return [
        _fixed_address(resource.attributes(connection))
        for resource in resources(connection, vnf_id)
        if resource.name == name and resource.status == "CREATE_COMPLETE"
    ]


def floating_ips(connection: Connection, vnf_id: str) -> dict[str, str]:
    """The floating IPs in a VNF's stacks, by fixed address."""
    return _floating_ips(_shown(connection, resources(connection, vnf_id), _FLOATING_IP))


def _floating_ips(shown: list[dict[str, Any]]) -> dict[str, str]:
    return {ip["fixed_ip_address"]: ip["floating_ip_address"] for ip in shown}


def _shown(connection: Connection, listed: list[Resource], kind: str) -> list[dict[str, Any]]:
    """Read the attributes of the existing resources of a type."""
    return [attributes for _, attributes in _named(connection, listed, kind)]


def _named(
    connection: Connection, listed: list[Resource], kind: str
) -> list[tuple[Resource, dict[str, Any]]]:
    return [
        (resource, resource.attributes(connection))
        for resource in listed
        if resource.type == kind and resource.id
    ]


def failure_reasons(connection: Connection, vnf_id: str) -> set[str]:
    """The reasons for failed resources in a VNF's stacks."""
    return {
        resource.reason
        for resource in resources(connection, vnf_id)
        if resource.status.endswith("FAILED")
    }


def mark_lost_ports(connection: Connection, vnf_id: str) -> list[str]:
    """Let Heat's next update replace ports that Neutron does not have; returns their ids."""
    lost = [
        resource
        for resource in resources(connection, vnf_id)
        if resource.type == _PORT and resource.id
        and connection.network.find_port(resource.id, ignore_missing=True) is None
    ]
    for port in lost:
        _mark(connection, f"{port.stack}/resources/{port.name}", "Neutron does not have it")
    return [port.id for port in lost]


def _mark(connection: Connection, path: str, reason: str) -> None:
    """Mark a resource as unhealthy, so that the stack's next update replaces it."""
    body = {"mark_unhealthy": True, "resource_status_reason": reason}
    connection.orchestration.patch(path, json=body).raise_for_status()


def replace(connection: Connection, stack_id: str, name: str) -> None:
    """Let Heat make a resource of a stack anew, as Tacker does in a heal."""
    with step(f"replace {name}"):
        path = _path(connection, stack_id)
        _mark(connection, f"{path}/resources/{name}", "to be replaced")
        before = connection.orchestration.get_stack(stack_id, resolve_outputs=False).updated_at
        connection.orchestration.patch(path, json={"existing": True}).raise_for_status()
        _await(connection, stack_id, "UPDATE", before)


def servers(connection: Connection, vnf_id: str, *names: str) -> list[Any]:
    """The servers in a VNF's stacks from Nova, which shows more attributes than Heat.

    Nova may not have a server that Heat could not create.

    :param names: of resources; without any all servers are returned
    """
    return [
        connection.compute.get_server(resource.id)
        for resource in resources(connection, vnf_id)
        if resource.type == "OS::Nova::Server" and resource.id
        and resource.status != "CREATE_FAILED"
        and (not names or resource.name in names)
    ]


def placement(connection: Connection, server_id: str) -> Placement:
    """The compute host and zone of a server, as far as Nova shows them."""
    server = connection.compute.get_server(server_id)
    return Placement(
        server.compute_host or "", server.availability_zone or "", server.host_id or ""
    )


def members_by_age(connection: Connection, vnf_id: str, name: str) -> list[str]:
    """Ids of the servers of a name in a scaling group, in the order in which the group shrinks.

    The oldest server is first. Each server is in a stack of its own, a member of the group.
    """
    listed = resources(connection, vnf_id)
    servers = {r.stack.rpartition("/")[2]: r.id for r in listed if r.name == name}
    members = sorted((r.created, r.name, r.id) for r in listed if r.id in servers)
    return [servers[stack_id] for _, _, stack_id in members]


def server_groups(connection: Connection, vnf_id: str) -> list[Any]:
    """Nova's server groups in a VNF's stacks."""
    return [
        connection.compute.get_server_group(resource.id)
        for resource in resources(connection, vnf_id)
        if resource.type == "OS::Nova::ServerGroup" and resource.id
    ]


def addresses(connection: Connection, vnf_id: str) -> list[str]:
    """Addresses of all machines of a VNF."""
    return list(server_addresses(connection, vnf_id).values())


def server_addresses(connection: Connection, vnf_id: str) -> dict[str, str]:
    """The address of each machine of a VNF, a floating IP if there is one, by server id."""
    listed = resources(connection, vnf_id)
    floating = _floating_ips(_shown(connection, listed, _FLOATING_IP))
    fixed = {
        port["device_id"]: _fixed_address(port)
        for port in _shown(connection, listed, _PORT)
        if port["device_id"]  # a virtual IP has a port without a machine
    }
    return {server: floating.get(address, address) for server, address in fixed.items()}


def named_addresses(connection: Connection, vnf_id: str) -> dict[str, dict[str, str]]:
    """The addresses of each machine of a VNF, by server id, then by name of port or floating IP.

    A port that Neutron does not have any more, or that belongs to no machine, is left out.
    """
    listed = resources(connection, vnf_id)
    named: dict[str, dict[str, str]] = {}
    servers: dict[str, str] = {}
    for resource, port in _named(connection, listed, _PORT):
        if port.get("device_id"):
            named.setdefault(port["device_id"], {})[resource.name] = _fixed_address(port)
            servers[_fixed_address(port)] = port["device_id"]
    for resource, ip in _named(connection, listed, _FLOATING_IP):
        if ip.get("fixed_ip_address") in servers:
            machine = servers[ip["fixed_ip_address"]]
            named[machine][resource.name] = ip["floating_ip_address"]
    return named


@contextlib.contextmanager
def stack(connection: Connection, resources: dict[str, Any]) -> Iterator[str]:
    """Make a stack with these resources, and delete it at the end; gives its id."""
    template = {"heat_template_version": "2018-08-31", "resources": resources}
    name = unique("test-machines")
    made = connection.orchestration.create_stack(name=name, template=template, timeout_mins=10)
    try:
        with step(f"create stack {name}"):
            _await(connection, made.id, "CREATE")
        yield made.id
    finally:
        with step(f"delete stack {name}"):
            connection.orchestration.delete_stack(made.id, ignore_missing=True)
            wait.until(
                lambda: connection.orchestration.find_stack(name, resolve_outputs=False),
                lambda stack: stack is None,
                300,
                "the deletion of the stack",
            )


@contextlib.contextmanager
def machines(
    connection: Connection, names: list[str], ports: Sequence[int] = ()
) -> Iterator[list[Remote]]:
    """Make test machines with Docker, and delete them at the end.

    :param ports: TCP ports that the machines serve, besides SSH
    """
    resources: dict[str, Any] = {}
    for name in names:
        resources |= server(name, CONFIG.docker_image, ports)
    with stack(connection, resources) as stack_id:
        remotes = [Remote(address(connection, stack_id, f"{name}_port")) for name in names]
        for remote in remotes:
            remote.await_login()
        yield remotes


def server(
    name: str, image: str, ports: Sequence[int] = (), **properties: Any
) -> dict[str, Any]:
    """A server, its port ``<name>_port`` and security group ``access``, as resources of a template.

    Servers of one stack have one security group.
    """
    port = {"network": CONFIG.network, "security_groups": [{"get_resource": "access"}]}
    return {
        "access": _security_group(ports),
        f"{name}_port": {"type": _PORT, "properties": port},
        name: {
            "type": "OS::Nova::Server",
            "properties": {
                "name": name,
                "image": image,
                "flavor": CONFIG.flavor,
                "networks": [{"port": {"get_resource": f"{name}_port"}}],
                **properties,
            },
        },
    }


def _security_group(ports: Sequence[int]) -> dict[str, Any]:
    """A security group that allows SSH, these TCP ports, and all traffic within the group."""
    rules: list[dict[str, Any]] = [
        {"protocol": "tcp", "port_range_min": port, "port_range_max": port}
        for port in (_SSH, *ports)
    ]
    rules.append({"remote_mode": "remote_group_id"})
    return {"type": "OS::Neutron::SecurityGroup", "properties": {"rules": rules}}


def _await(connection: Connection, stack_id: str, action: str, before: str | None = None) -> None:
    """Wait for the end of an action.

    :param before: the time of the update before, which left the same status
    """
    ends = (f"{action}_COMPLETE", f"{action}_FAILED")
    stack = wait.until(
        lambda: connection.orchestration.get_stack(stack_id, resolve_outputs=False),
        lambda stack: stack.status in ends and (before is None or stack.updated_at != before),
        600,
        "the stack of the test machines",
    )
    if stack.status != f"{action}_COMPLETE":
        raise ClientError(f"stack {stack.name}: {stack.status}: {stack.status_reason}")
