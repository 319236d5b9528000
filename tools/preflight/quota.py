"""What is left of the project's quota; by default, for the biggest scenario."""

from collections.abc import Mapping
from dataclasses import dataclass

from openstack.connection import Connection

from tools.preflight.missing import Missing, openstack
from tools.preflight.requirements import COMPUTE_QUOTA, NETWORK_QUOTA, VOLUME_QUOTA


@dataclass(frozen=True)
class Usage:
    """A limit, where -1 is none, and how much of it is in use."""

    limit: int
    used: int


def missing_compute(
    connection: Connection, needed: Mapping[str, int] = COMPUTE_QUOTA
) -> list[Missing]:
    found = connection.compute.get_limits().absolute
    usages = {
        "instances": Usage(found.instances, found.instances_used),
        "cores": Usage(found.total_cores, found.total_cores_used),
        "ram": Usage(found.total_ram, found.total_ram_used),
    }
    return missing(connection, needed, usages)


def missing_volumes(
    connection: Connection, needed: Mapping[str, int] = VOLUME_QUOTA
) -> list[Missing]:
    found = connection.block_storage.get_limits().absolute
    usages = {
        "volumes": Usage(found.max_total_volumes, found.total_volumes_used),
        "gigabytes": Usage(found.max_total_volume_gigabytes, found.total_gigabytes_used),
    }
    return missing(connection, needed, usages)


def missing_network(
    connection: Connection, needed: Mapping[str, int] = NETWORK_QUOTA
) -> list[Missing]:
    found = connection.network.get_quota(connection.current_project.id, details=True)
    details = {
        "ports": found.ports,
        "floating-ips": found.floating_ips,
        "secgroups": found.security_groups,
        "secgroup-rules": found.security_group_rules,
    }
    usages = {name: Usage(shown["limit"], shown["used"]) for name, shown in details.items()}
    return missing(connection, needed, usages)


def missing(
    connection: Connection, needed: Mapping[str, int], usages: Mapping[str, Usage]
) -> list[Missing]:
    """The quotas that are too small, with one command for all of them."""
    small = {
        name: usages[name]
        for name, need in needed.items()
        if 0 <= usages[name].limit < usages[name].used + need
    }
    if not small:
        return []
    lines = [f"{n} {u.limit}, {u.used} used, {needed[n]} needed" for n, u in small.items()]
    options = [
        word for n, u in small.items() for word in (f"--{n}", str(u.used + needed[n]))
    ]
    command = openstack("quota", "set", *options, connection.current_project.name)
    return [Missing(f"the project's quota is too small: {'; '.join(lines)}", (command,))]
