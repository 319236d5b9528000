"""The guard rails: why an automatic heal is refused, before it changes anything."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from mgmt_drivers.cluster.backup import restoring
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.etcd import etcd
from mgmt_drivers.cluster.etcd.etcd import EtcdStatus
from mgmt_drivers.cluster.kubeadm import kubeadm, kubelet
from mgmt_drivers.cluster.monitoring import monitoring
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.self_healing import heal_history
from mgmt_drivers.cluster.self_healing.heal_history import HOUR
from mgmt_drivers.cluster.self_healing.rail_params import NAME
from mgmt_drivers.cluster.series import read_version
from mgmt_drivers.cluster.topology import Topology
from mgmt_drivers.engine.phase import Check
from mgmt_drivers.engine.services import Store
from mgmt_drivers.errors import HeldByRail, MgmtDriverError, text_of
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine.host import Host

# Machines that were healed so short a time ago (s) count for the share: an outage sends its alerts
# one after another, and a heal may itself bring the next machine down.
_RECENT = 300.0
_NODE_CONDITIONS = ("DiskPressure", "PIDPressure")  # true: kubelet found the machine unfit
UNREACHABLE = "cluster unreachable"  # a rail
# The ends of a refusal.
NETWORK = "Look at the network between the conductor and the machines, and at the monitoring"
NEXT = (
    "While the operation is FAILED_TEMP, Tacker begins no other one: retry the operation, which "
    "checks the rails again, or end it with fail"
)
REFUSED = "was refused by the guard rail"  # in each refusal, and in nothing else
HALF_DONE = "half-done operation"  # a rail
_TYPED = "A heal that you send yourself is not held by this rail"


def held(rail: str, targets: Sequence[Node]) -> str:
    """The beginning of a refusal: the rail, and the machines that are not healed."""
    names = ", ".join(map(str, targets)) or "the VNF"
    return f'the automatic heal of {names} {REFUSED} "{rail}", nothing was changed'


def refusal(
    rail: str, targets: Sequence[Node], reason: str | Exception, cure: str
) -> MgmtDriverError:
    told = text_of(reason) if isinstance(reason, Exception) else reason
    return HeldByRail(f"{held(rail, targets)}: {told}. {cure}. {NEXT}")


@contextmanager
def holding(
    targets: Sequence[Node], rail: str = UNREACHABLE, cure: str = NETWORK
) -> Iterator[None]:
    """Turn the error of machines that cannot be used into a refusal; only looks may be inside."""
    try:
        yield
    except MgmtDriverError as error:
        raise refusal(rail, targets, error, cure) from error


def check_times(store: Store, known: Topology, targets: Sequence[Node], now: float) -> None:
    """:raises MgmtDriverError: if a target was healed too often within the last hour"""
    limit = known.params.automatic_heal.heals_an_hour
    times = heal_history.load(store, now)
    for node in targets:
        own = times.get(node.vnfc_id, ())
        if len(own) >= limit:
            minutes = (min(sorted(own)[-limit:]) + HOUR - now) / 60
            raise refusal(
                "times an hour",
                [node],
                f"{len(own)} automatic heals of the VNFC have ended within an hour, and "
                f"{NAME}.heals_an_hour is {limit}",
                "Find out why each new machine fails: the image, the flavor, the compute host or "
                f"the network. The next automatic heal may begin in {minutes:.0f} minutes. "
                f"{_TYPED}",
            )


class CheckRails(Check[Cluster]):
    """Preflight of an automatic heal: half-done operations, machines that are well, the share.

    :param old: the targets that Heat has not replaced; the others are not whole yet
    :param reached: the machines that answer
    """

    title = "check the guard rails"

    def __init__(
        self, targets: Sequence[Node], old: Sequence[Node], reached: Sequence[Host]
    ) -> None:
        self._targets, self._old, self._reached = targets, old, reached

    def check(self, host: Host, cluster: Cluster) -> None:
        with holding(self._targets):
            nodes = kubectl.list_nodes(host)
            half_done = next(self._find_half_done(host, cluster, nodes), "")
            status = etcd.read_status(host, cluster)
        if half_done:
            cure = f"Finish that operation first: send its request again. {_TYPED}"
            raise refusal(HALF_DONE, self._targets, half_done, cure)
        well = [
            other.node
            for other in self._reached
            if other.node in self._old and _is_well(other, cluster, nodes, status)
        ]
        if well:
            raise refusal(
                "machine is well",
                well,
                "the machine answers SSH, and its node is healthy again, as after a reboot",
                f"The next alert heals the machines that are still ill. {_TYPED}",
            )
        self._check_share(cluster, nodes, host.clock.time())

    def _find_half_done(
        self, leader: Host, cluster: Cluster, nodes: Mapping[str, Any]
    ) -> Iterator[str]:
        """Find an upgrade or a restore that has not ended."""
        own = [name for name in map(cluster.topology.name, cluster.topology.nodes) if name in nodes]
        for name in own:
            if kubectl.why_cordoned(nodes[name]) == kubectl.UPGRADE:
                yield f"an upgrade has cordoned {name}, and has not ended"
        releases = {kubectl.kubelet_release(nodes[name]) for name in own}
        releases.add(kubeadm.read_cluster_release(leader))
        versions = [read_version(release) for release in releases]
        if len({version and version.series for version in versions}) > 1:
            yield f"an upgrade has not ended: the cluster has {', '.join(sorted(releases))}"
        for host in cluster.masters(self._reached):
            if host.node not in self._targets and restoring.has_leftovers(host):
                yield f"a restore has not ended: the copy of its backup is on {host.node}"

    def _check_share(self, cluster: Cluster, nodes: Mapping[str, Any], now: float) -> None:
        known, reached = cluster.topology, {host.node for host in self._reached}
        times = heal_history.load(cluster.store, now)

        def counts(node: Node) -> str:
            if node in self._targets:
                return "to heal"
            if node not in reached:
                return "does not answer"
            if node in known.nodes and not kubectl.is_ready(nodes.get(known.name(node))):
                return "not ready"
            ended = max(times.get(node.vnfc_id, ()), default=now - _RECENT)
            return "just healed" if now - ended < _RECENT else ""

        ill = {node: why for node in known.machines if (why := counts(node))}
        limit = known.params.automatic_heal.machines(len(known.machines))
        if len(ill) > limit:
            listed = ", ".join(f"{node} ({why})" for node, why in ill.items())
            raise refusal(
                "share of machines",
                self._targets,
                f"{len(ill)} of {len(known.machines)} machines are ill or under repair, and "
                f"{NAME}.share allows {limit}: {listed}",
                "Look for one cause of all: the network, a compute host, the monitoring. "
                f"{_TYPED}",
            )


def _is_well(
    host: Host, cluster: Cluster, nodes: Mapping[str, Any], status: EtcdStatus
) -> bool:
    """Whether a machine that answers SSH needs no heal."""
    if host.node not in cluster.topology.nodes:
        return True  # the storage server
    name = cluster.name(host)
    node = nodes.get(name)
    if node is None or not kubectl.is_ready(node):
        return False
    if any(kubectl.has_condition(node, condition) for condition in _NODE_CONDITIONS):
        return False
    if cluster.is_control_plane(host):
        healthy = {member.name for member in status.members if member.id in status.healthy}
        if name not in healthy:
            return False
    try:
        return kubelet.is_running(host) and not monitoring.is_disk_full(host, cluster)
    except MgmtDriverError:  # it took the login, and answers no more
        return False
