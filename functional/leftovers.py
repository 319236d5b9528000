"""Resources of a project in the cloud: to see that operations leave nothing behind."""

from openstack.connection import Connection
from tackerclient.v1_0.client import Client


def resources(connection: Connection, tacker: Client) -> dict[str, frozenset[str]]:
    """Ids of all that belongs to the project, by kind."""
    project = connection.current_project_id
    compute, network = connection.compute, connection.network
    found = {
        "floating IPs": network.ips(project_id=project),
        "ports": network.ports(project_id=project),
        "secrets": connection.key_manager.secrets(),
        "security groups": network.security_groups(project_id=project),
        "server groups": compute.server_groups(),
        "servers": compute.servers(),
        "stacks": connection.orchestration.stacks(),
        "volumes": connection.block_storage.volumes(),
    }
    ids = {kind: frozenset(str(thing.id) for thing in things) for kind, things in found.items()}
    return {**ids, "VIMs": frozenset(vim["id"] for vim in tacker.list_vims()["vims"])}


def difference(
    before: dict[str, frozenset[str]], after: dict[str, frozenset[str]]
) -> dict[str, tuple[set[str], set[str]]]:
    """Ids that have come and ids that have gone, by kind; empty if there are none."""
    return {
        kind: (set(after[kind] - before[kind]), set(before[kind] - after[kind]))
        for kind in before
        if before[kind] != after[kind]
    }
