"""Stacks in Heat: those of VNFs are read; stacks of plain test machines are made."""

import contextlib
import uuid
from collections.abc import Iterator
from typing import Any

from openstack.connection import Connection

from tools.client import wait
from tools.client.config import CONFIG
from tools.client.errors import ClientError
from tools.client.log import step
from tools.client.machines import Remote


def attributes(connection: Connection, stack_id: str, resource: str) -> dict[str, Any]:
    """Attributes of one resource of a stack."""
    stack = connection.orchestration.get_stack(stack_id)
    path = f"/stacks/{stack.name}/{stack.id}/resources/{resource}"
    answer = connection.orchestration.get(path).json()
    found: dict[str, Any] = answer["resource"]["attributes"]
    return found


def address(connection: Connection, stack_id: str, port: str) -> str:
    """First fixed address of a port resource."""
    fixed: str = attributes(connection, stack_id, port)["fixed_ips"][0]["ip_address"]
    return fixed


def stack_ids(connection: Connection, vnf_id: str) -> list[str]:
    """Ids of a VNF's stacks in Heat, nested ones too, also of stacks that Tacker has forgotten."""
    listed = connection.orchestration.get("/stacks?show_nested=true").json()["stacks"]
    return [stack["id"] for stack in listed if vnf_id in stack["stack_name"]]


def delete_vnf_stack(connection: Connection, vnf_id: str) -> None:
    """Delete a VNF's stack that Tacker has forgotten, as an operator would."""
    with step(f"delete the stack of VNF {vnf_id}"):
        connection.orchestration.delete_stack(f"vnflcm_{vnf_id}")
        await_deletion(connection, vnf_id)


def await_deletion(connection: Connection, vnf_id: str) -> None:
    """Wait until a VNF has no stack."""
    what = f"the deletion of the stacks of VNF {vnf_id}"
    wait.until(lambda: stack_ids(connection, vnf_id), lambda left: not left, 120, what)


def attributes_of_type(connection: Connection, vnf_id: str, kind: str) -> list[dict[str, Any]]:
    """Attributes of all resources of a type in a VNF's stacks."""
    return [
        attributes(connection, stack_id, resource.name)
        for stack_id in stack_ids(connection, vnf_id)
        for resource in connection.orchestration.resources(stack_id)
        if resource.resource_type == kind
    ]


def addresses_of_port(connection: Connection, vnf_id: str, name: str) -> list[str]:
    """Addresses of all ports of a name in a VNF's stacks."""
    return [
        address(connection, stack_id, name)
        for stack_id in stack_ids(connection, vnf_id)
        for resource in connection.orchestration.resources(stack_id)
        if resource.name == name and resource.status == "CREATE_COMPLETE"
    ]


def floating_ips(connection: Connection, vnf_id: str, name: str) -> list[str]:
    """The floating IPs of a name in a VNF's stacks."""
    return [
        attributes(connection, stack_id, name)["floating_ip_address"]
        for stack_id in stack_ids(connection, vnf_id)
        for resource in connection.orchestration.resources(stack_id)
        if resource.name == name
    ]


def failure_reasons(connection: Connection, vnf_id: str) -> set[str]:
    """Why resources of a VNF's stacks have failed."""
    return {
        resource.status_reason
        for stack_id in stack_ids(connection, vnf_id)
        for resource in connection.orchestration.resources(stack_id)
        if resource.status.endswith("FAILED")
    }


def addresses(connection: Connection, vnf_id: str) -> list[str]:
    """Addresses of all ports in a VNF's stacks."""
    return list(server_addresses(connection, vnf_id).values())


def server_addresses(connection: Connection, vnf_id: str) -> dict[str, str]:
    """Address of each machine of a VNF, by the id of its server."""
    return {
        port["device_id"]: port["fixed_ips"][0]["ip_address"]
        for port in attributes_of_type(connection, vnf_id, "OS::Neutron::Port")
        if port["device_id"]
    }


@contextlib.contextmanager
def stack(connection: Connection, resources: dict[str, Any]) -> Iterator[str]:
    """Id of a stack with these resources, which is deleted at the end."""
    template = {"heat_template_version": "2018-08-31", "resources": resources}
    name = f"test-machines-{uuid.uuid4().hex[:8]}"
    made = connection.orchestration.create_stack(name=name, template=template, timeout_mins=10)
    try:
        with step(f"create stack {name}"):
            _await_creation(connection, made.id)
        yield made.id
    finally:
        with step(f"delete stack {name}"):
            connection.orchestration.delete_stack(made.id, ignore_missing=True)
            wait.until(
                lambda: connection.orchestration.find_stack(name),
                lambda seen: seen is None,
                120,
                "the deletion of the stack",
            )


@contextlib.contextmanager
def machines(connection: Connection, names: list[str]) -> Iterator[list[Remote]]:
    """Test machines with Docker, which are deleted at the end."""
    resources: dict[str, Any] = {}
    for name in names:
        resources |= server(name, CONFIG.docker_image)
    with stack(connection, resources) as stack_id:
        remotes = [Remote(address(connection, stack_id, f"{name}_port")) for name in names]
        for remote in remotes:
            remote.await_login()
        yield remotes


def server(name: str, image: str, **properties: Any) -> dict[str, Any]:
    """A server and its port ``<name>_port``, as resources of a template."""
    return {
        f"{name}_port": {"type": "OS::Neutron::Port", "properties": {"network": CONFIG.network}},
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


def _await_creation(connection: Connection, stack_id: str) -> None:
    stack = wait.until(
        lambda: connection.orchestration.get_stack(stack_id),
        lambda seen: not seen.status.endswith("IN_PROGRESS"),
        600,
        "the stack of the test machines",
    )
    if stack.status != "CREATE_COMPLETE":
        raise ClientError(f"stack {stack.name}: {stack.status}: {stack.status_reason}")
