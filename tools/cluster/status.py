"""The status of a cluster, read from its control-plane nodes."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from mgmt_drivers.cluster.certificates import certificates
from mgmt_drivers.cluster.etcd import etcd, upkeep
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.packages.runtime import Containerd, ContainerRuntime, Docker
from mgmt_drivers.cluster.topology import describe_shared_hosts, node_name
from mgmt_drivers.errors import MgmtDriverError, printable
from mgmt_drivers.machine.host import Host

MASTER = "masterNode"  # VDU of the control-plane nodes in the packages of this project


@dataclass
class Status:
    """What was seen of a cluster, and the faults with their advice.

    ``vnfcs`` are the ids of the VNFCs by the names of their nodes; ``broken`` are the nodes that a
    heal replaces; ``master`` is the VDU of the control-plane nodes.
    """

    vnf: str = "VNF"
    vnfcs: Mapping[str, str] = field(default_factory=dict)
    nodes: list[dict[str, Any]] = field(default_factory=list)
    members: list[dict[str, Any]] = field(default_factory=list)
    certificates: dict[str, dict[str, int]] = field(default_factory=dict)  # days left
    warnings: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    master: str = MASTER

    @contextmanager
    def looking_at(self, what: str) -> Iterator[None]:
        """Turn an error of the block into a fault."""
        try:
            yield
        except MgmtDriverError as error:
            self.faults.append(f"{what}: {error}")

    def vnfc(self, node: str) -> str:
        """The id of a node's VNFC; empty if another one has joined the node."""
        return self.vnfcs.get(node, "")

    def add_broken(self, node: str, fault: str) -> None:
        self.faults.append(fault)
        if self.vnfc(node) and node not in self.broken:
            self.broken.append(node)

    @property
    def heals(self) -> list[str]:
        """The commands that replace what is broken."""
        option = [] if self.master == MASTER else ["--vdu", self.master]
        words = ["k8s-vnf", "heal", *option, self.vnf]
        return [shlex.join([*words, node]) for node in self.broken]

    def as_json(self) -> dict[str, Any]:
        fields = asdict(self)
        del fields["master"], fields["vnfcs"], fields["broken"]
        return {**fields, "heal": self.heals}

    @property
    def lines(self) -> Iterator[str]:
        yield "nodes:"
        for node in self.nodes:
            cordoned = ", cordoned" if node["cordoned"] else ""
            line = f"  {node['name']}  {node['release']}  {node['state']}{cordoned}"
            yield f"{line}  VNFC {node['vnfc']}" if node["vnfc"] else line
        yield from (f"WARNING: {warning}" for warning in self.warnings)
        yield "members of etcd:"
        for member in self.members:
            line = f"  {member['name']}  {member['state']}{', leader' if member['leader'] else ''}"
            if sizes := member.get("MiB"):
                line += ", {size} of {quota} MiB ({in_use} MiB in use)".format(**sizes)
            yield line
        for address, days in self.certificates.items():
            yield f"days left of the certificates of {address}:"
            yield from (f"  {name}  {left}" for name, left in days.items())
        yield from (f"FAULT: {fault}" for fault in self.faults)
        yield from (f"$ {command}" for command in self.heals)

    def __str__(self) -> str:
        return "\n".join(self.lines)


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
    status.warnings += [shared] if shared else []
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
    for name, node in sorted(nodes.items()):
        state = printable(kubectl.state_of(node))
        status.nodes.append({
            "name": name, "release": kubectl.kubelet_release(node), "state": state,
            "cordoned": bool(node["spec"].get("unschedulable")), "vnfc": status.vnfc(name),
        })
        if not kubectl.is_ready(node):
            status.add_broken(name, f"node {name} is not ready: {state}. Heal its VNFC")


def _runtime_of(nodes: Mapping[str, Mapping[str, Any]]) -> ContainerRuntime:
    infos = [node["status"].get("nodeInfo", {}) for node in nodes.values()]
    with_docker = any(str(i.get("containerRuntimeVersion")).startswith("docker") for i in infos)
    return Docker() if with_docker else Containerd()


def _add_members(status: Status, host: Host, runtime: ContainerRuntime, expected: int) -> None:
    """:param expected: number of members"""
    found = etcd.read_status(host, _Runtime(runtime))
    for member in found.members:
        state = found.state(member)
        seen = {"name": str(member), "state": state, "leader": member.id == found.leader}
        if database := found.databases.get(member.id):
            quota = upkeep.read_quota(host, database)
            sizes = {"size": database.size, "quota": quota, "in_use": database.in_use}
            seen["MiB"] = {name: size >> 20 for name, size in sizes.items()}
        status.members.append(seen)
        if state != etcd.HEALTHY:
            text = f"etcd's member {member} is not a healthy voter ({state}). Heal its VNFC"
            status.add_broken(member.name, text)
    if found.alarms:
        status.faults.append(found.describe_alarms())
    if len(found.members) < expected:
        status.faults.append(f"etcd has {len(found.members)} of {expected} members")


def _add_certificates(status: Status, host: Host, now: float) -> None:
    state = certificates.read(host)
    status.certificates[_address(host)] = {
        name: certificate.days_left(now) for name, certificate in state.certificates.items()
    }
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
            f"{_address(host)}: a renewal of certificates was interrupted. Renew the certificates"
        )


def _address(host: Host) -> str:
    return ", ".join(host.node.addresses.values())
