"""Stacks in Heat: those of VNFs are read; stacks of plain test machines are made."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from openstack.connection import Connection

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
    """A resource of a stack, as Heat lists it."""

    stack: str  # its path in Heat's API
    name: str
    type: str
    status: str
    reason: str
    id: str  # of what Heat has made
    created: str  # when, in the form of ISO 8601

    def attributes(self, connection: Connection) -> dict[str, Any]:
        """The attributes that Heat shows of the resource."""
        answer = connection.orchestration.get(f"{self.stack}/resources/{self.name}").json()
        found: dict[str, Any] = answer["resource"]["attributes"]
        return found


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
            found["resource_name"],
            found["resource_type"],
            found["resource_status"],
            found["resource_status_reason"],
            found["physical_resource_id"],
            found["creation_time"],
        )
        for found in listed.get("resources", ())  # a stack that was deleted has none
    ]


def attributes(connection: Connection, stack_id: str, name: str) -> dict[str, Any]:
    """Attributes of one resource of a stack."""
    return _resource(connection, stack_id, name).attributes(connection)


def physical_id(connection: Connection, stack_id: str, name: str) -> str:
    """The id of what Heat has made of one resource of a stack."""
    return _resource(connection, stack_id, name).id


def members(connection: Connection, stack_id: str, group: str) -> list[str]:
    """Ids of the stacks in a scaling group of a stack, the oldest first."""
    made = physical_id(connection, stack_id, group)
    path = _path(connection, made)
    listed = connection.orchestration.get(f"{path}/resources").json().get("resources", ())
    complete = [found for found in listed if found["resource_status"].endswith("COMPLETE")]
    complete.sort(key=lambda found: (found["creation_time"], found["resource_name"]))
    return [found["physical_resource_id"] for found in complete]


def _resource(connection: Connection, stack_id: str, name: str) -> Resource:
    found = _resources(connection, _path(connection, stack_id))
    named = [resource for resource in found if resource.name == name]
    if not named:
        raise ClientError(f"stack {stack_id} has no resource {name}")
    return named[0]


def _path(connection: Connection, stack_id: str) -> str:
    """A stack's path in Heat's API."""
    # Heat would compute the outputs, for minutes, of a stack that it shows.
    stack = connection.orchestration.get_stack(stack_id, resolve_outputs=False)
    return f"/stacks/{stack.name}/{stack.id}"


def address(connection: Connection, stack_id: str, port: str) -> str:
    """The fixed address of a port resource."""
    return _fixed_address(attributes(connection, stack_id, port))


def _fixed_address(port: dict[str, Any]) -> str:
    """The first IPv4 address: a network may have IPv6, too, in any order."""
    found = (fixed["ip_address"] for fixed in port["fixed_ips"])
    return next(address for address in found if ":" not in address)


def _stacks(connection: Connection, vnf_id: str) -> dict[str, str]:
    """A VNF's stacks in Heat, nested ones too, also those that Tacker has forgotten.

    Their paths in Heat's API, by id.
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


def _shown(connection: Connection, found: list[Resource], kind: str) -> list[dict[str, Any]]:
    """The attributes of the resources of a type that exist."""
    return [
        resource.attributes(connection)
        for resource in found
        if resource.type == kind and resource.id
    ]


def failure_reasons(connection: Connection, vnf_id: str) -> set[str]:
    """Why resources of a VNF's stacks have failed."""
    return {
        resource.reason
        for resource in resources(connection, vnf_id)
        if resource.status.endswith("FAILED")
    }


def mark_lost_ports(connection: Connection, vnf_id: str) -> list[str]:
    """Let Heat's next update replace ports that Neutron has not any more; returns their ids."""
    lost = [
        resource
        for resource in resources(connection, vnf_id)
        if resource.type == _PORT and resource.id
        and connection.network.find_port(resource.id, ignore_missing=True) is None
    ]
    body = {"mark_unhealthy": True, "resource_status_reason": "Neutron does not have it"}
    for port in lost:
        path = f"{port.stack}/resources/{port.name}"
        connection.orchestration.patch(path, json=body).raise_for_status()
    return [port.id for port in lost]


def servers(connection: Connection, vnf_id: str) -> list[Any]:
    """Nova's servers in a VNF's stacks. (Heat shows less of a server than Nova does.)"""
    return [
        connection.compute.get_server(resource.id)
        for resource in resources(connection, vnf_id)
        if resource.type == "OS::Nova::Server" and resource.id
    ]


def members_by_age(connection: Connection, vnf_id: str, name: str) -> list[str]:
    """Servers of a name in a scaling group, the oldest first, which is how the group shrinks.

    Each lies in a stack of its own, which is a member of the group; their ids.
    """
    found = resources(connection, vnf_id)
    servers = {r.stack.rpartition("/")[2]: r.id for r in found if r.name == name}
    members = sorted((r.created, r.name, r.id) for r in found if r.id in servers)
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
    """Address of each machine of a VNF, by the id of its server.

    The address of a machine with a floating IP is the floating IP.
    """
    found = resources(connection, vnf_id)
    floating = _floating_ips(_shown(connection, found, _FLOATING_IP))
    fixed = {
        port["device_id"]: _fixed_address(port)
        for port in _shown(connection, found, _PORT)
        if port["device_id"]  # a virtual IP has a port without a machine
    }
    return {server: floating.get(address, address) for server, address in fixed.items()}


@contextlib.contextmanager
def stack(connection: Connection, resources: dict[str, Any]) -> Iterator[str]:
    """Id of a stack with these resources, which is deleted at the end."""
    template = {"heat_template_version": "2018-08-31", "resources": resources}
    name = unique("test-machines")
    made = connection.orchestration.create_stack(name=name, template=template, timeout_mins=10)
    try:
        with step(f"create stack {name}"):
            _await_creation(connection, made.id)
        yield made.id
    finally:
        with step(f"delete stack {name}"):
            connection.orchestration.delete_stack(made.id, ignore_missing=True)
            wait.until(
                lambda: connection.orchestration.find_stack(name, resolve_outputs=False),
                lambda seen: seen is None,
                300,
                "the deletion of the stack",
            )


@contextlib.contextmanager
def machines(
    connection: Connection, names: list[str], ports: Sequence[int] = ()
) -> Iterator[list[Remote]]:
    """Test machines with Docker, which are deleted at the end.

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
    """Lets in SSH and these TCP ports, and everything between the group's members."""
    rules: list[dict[str, Any]] = [
        {"protocol": "tcp", "port_range_min": port, "port_range_max": port}
        for port in (_SSH, *ports)
    ]
    rules.append({"remote_mode": "remote_group_id"})
    return {"type": "OS::Neutron::SecurityGroup", "properties": {"rules": rules}}


def _await_creation(connection: Connection, stack_id: str) -> None:
    stack = wait.until(
        lambda: connection.orchestration.get_stack(stack_id, resolve_outputs=False),
        lambda seen: not seen.status.endswith("IN_PROGRESS"),
        600,
        "the stack of the test machines",
    )
    if stack.status != "CREATE_COMPLETE":
        raise ClientError(f"stack {stack.name}: {stack.status}: {stack.status_reason}")
