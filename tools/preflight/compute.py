"""Flavors and compute hosts in Nova."""

from collections.abc import Iterable
from typing import Any

from openstack.connection import Connection
from openstack.exceptions import ForbiddenException

from tools.client import hosts
from tools.client.config import CONFIG
from tools.preflight.missing import Command, Missing, openstack
from tools.preflight.requirements import ROLE, Flavor, flavors


def missing_flavors(
    connection: Connection, needed: Iterable[Flavor] | None = None
) -> list[Missing]:
    """:param needed: default: those of the scenarios"""
    wanted = flavors() if needed is None else needed
    found = [(flavor, connection.compute.find_flavor(flavor.name)) for flavor in wanted]
    return [
        missing for flavor, shown in found for missing in [_missing(flavor, shown)] if missing
    ]


def _missing(flavor: Flavor, shown: Any) -> Missing | None:
    if shown is None:
        return Missing(f"there is no flavor {flavor.name}", (_create(flavor),))
    sizes = ("vcpus", "ram", "disk")
    small = [size for size in sizes if getattr(shown, size) < getattr(flavor, size)]
    if not small:
        return None
    details = ", ".join(
        f"{size} {getattr(shown, size)} instead of {getattr(flavor, size)}" for size in small
    )
    replaced = (openstack("flavor", "delete", flavor.name), _create(flavor))
    return Missing(f"the flavor {flavor.name} is too small: {details}", replaced)


def _create(flavor: Flavor) -> Command:
    return openstack(
        "flavor", "create", "--vcpus", str(flavor.vcpus), "--ram", str(flavor.ram),
        "--disk", str(flavor.disk), flavor.name,
    )


def missing_hosts(connection: Connection) -> list[Missing]:
    try:
        found = hosts.count(connection, CONFIG.node_image)
    except ForbiddenException:
        user = connection.config.get_auth_args().get("username", "USER")
        project = connection.current_project.name
        command = openstack("role", "add", "--user", user, "--project", project, ROLE)
        return [Missing(f"the user may not see compute hosts, without the role {ROLE}", (command,))]
    return [] if found else [Missing("no compute host is up", (openstack("hypervisor", "list"),))]
