"""The status of a cluster, read from its control-plane nodes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mgmt_drivers.cluster.certificates import certificates
from mgmt_drivers.cluster.etcd import etcd, upkeep
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.packages.runtime import Containerd, ContainerRuntime, Docker
from mgmt_drivers.cluster.topology import describe_shared_hosts, node_name
from mgmt_drivers.errors import MgmtDriverError, printable
from mgmt_drivers.machine.host import Host


@dataclass
class Status:
    """The lines of the status, and the faults with their advice."""

    lines: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @contextmanager
    def looking_at(self, what: str) -> Iterator[None]:
        """Turn an error of the block into a fault."""
        try:
            yield
        except MgmtDriverError as error:
            self.faults.append(f"{what}: {error}")


@dataclass(frozen=True)
class _Runtime:
    """The part of a cluster that commands of etcd need."""

    runtime: ContainerRuntime

    def name(self, host: Host) -> str:
        return node_name("master", host.node)


def look_at(status: Status, masters: Sequence[Host], now: float) -> None:
    """Add the nodes, the members of etcd, and the certificates on each control-plane node.

    :param now: seconds since the epoch
    """
    ready = []
    for host in masters:
        with status.looking_at(_address(host)):
            _check_ready(host)
            ready.append(host)
    runtime: ContainerRuntime = Containerd()
    if ready:
        with status.looking_at("nodes"):
            nodes = kubectl.list_nodes(ready[0])
            runtime = _runtime_of(nodes)
            _add_nodes(status, nodes)
    shared = describe_shared_hosts(host.node for host in masters)
    status.lines += [f"WARNING: {shared}"] if shared else []
    for host in (ready or masters)[:1]:
        with status.looking_at("etcd"):
            _add_members(status, host, runtime, len(masters))
    for host in masters:
        with status.looking_at(f"certificates of {_address(host)}"):
            _add_certificates(status, host, now)


def _check_ready(host: Host) -> None:
    reason = kubectl.find_why_not_ready(host)
    if reason:
        raise MgmtDriverError(f"the apiserver is not ready: {reason}")


def _add_nodes(status: Status, nodes: Mapping[str, Mapping[str, Any]]) -> None:
    status.lines.append("nodes:")
    for name, node in sorted(nodes.items()):
        state = printable(kubectl.state_of(node))
        cordoned = ", cordoned" if node["spec"].get("unschedulable") else ""
        status.lines.append(f"  {name}  {kubectl.kubelet_release(node)}  {state}{cordoned}")
        if not kubectl.is_ready(node):
            status.faults.append(f"node {name} is not ready: {state}. Heal its VNFC")


def _runtime_of(nodes: Mapping[str, Mapping[str, Any]]) -> ContainerRuntime:
    infos = [node["status"].get("nodeInfo", {}) for node in nodes.values()]
    with_docker = any(str(i.get("containerRuntimeVersion")).startswith("docker") for i in infos)
    return Docker() if with_docker else Containerd()


def _add_members(status: Status, host: Host, runtime: ContainerRuntime, expected: int) -> None:
    """:param expected: number of members"""
    found = etcd.read_status(host, _Runtime(runtime))
    status.lines.append("members of etcd:")
    for member in found.members:
        state = found.state(member)
        line = f"  {member}  {state}{', leader' if member.id == found.leader else ''}"
        if database := found.databases.get(member.id):
            quota = upkeep.read_quota(host, database)
            line += f", {database.size >> 20} of {quota >> 20} MiB"
            line += f" ({database.in_use >> 20} MiB in use)"
        status.lines.append(line)
        if state != etcd.HEALTHY:
            status.faults.append(
                f"etcd's member {member} is not a healthy voter ({state}). Heal its VNFC"
            )
    if found.alarms:
        status.faults.append(found.describe_alarms())
    if len(found.members) < expected:
        status.faults.append(f"etcd has {len(found.members)} of {expected} members")


def _add_certificates(status: Status, host: Host, now: float) -> None:
    state = certificates.read(host)
    status.lines.append(f"days left of the certificates of {_address(host)}:")
    for name, certificate in state.certificates.items():
        status.lines.append(f"  {name}  {certificate.days_left(now)}")
    due = state.due(now, certificates.SOON)
    if due:
        first = min(due, key=lambda certificate: certificate.end)
        others = f", and {len(due) - 1} more within {certificates.SOON:g} days" if due[1:] else ""
        status.faults.append(
            f"{_address(host)}: {first.name} {first.ending(now)}{others}. Renew the certificates"
        )
    kubelet = state.kubelet_due(now, certificates.SOON)
    ending = [f"{certificate.name} {certificate.ending(now)}" for certificate in kubelet]
    status.faults += [f"{_address(host)}: {text}" for text in (*ending, *state.warnings(now))]
    if state.is_pending:
        status.faults.append(
            f"{_address(host)}: a renewal of certificates was broken off. Renew the certificates"
        )


def _address(host: Host) -> str:
    return ", ".join(host.node.addresses.values())
