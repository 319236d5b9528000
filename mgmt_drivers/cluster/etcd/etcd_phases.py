"""The members of etcd, which control-plane nodes bring and take away."""

import logging
from collections.abc import Sequence

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.etcd import etcd, quorum, upkeep
from mgmt_drivers.cluster.etcd.etcd import HEALTHY, Member
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.engine.phase import Change, Check
from mgmt_drivers.errors import (
    ClusterError,
    CommandFailed,
    EtcdAlarm,
    MgmtDriverError,
    NoQuorum,
    WaitTimeout,
)
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine.host import Host

LOG = logging.getLogger(__name__)

_COMPONENTS = {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}


class CheckQuorum(Check[Cluster]):
    """Preflight: refuse to take control-plane nodes away that the cluster needs.

    :param refused: what is refused, as the error says it
    :param way_out: the error's end: what may be done instead
    """

    title = "check the etcd quorum"

    def __init__(self, refused: str, way_out: str = "") -> None:
        self._refused, self._way_out = refused, way_out

    def check(self, host: Host, cluster: Cluster) -> None:
        try:
            status = etcd.read_status(host, cluster)
        except etcd.EtcdUnreadable as error:
            # From etcd 3.5 on the list itself wants a quorum (its changelog, "linearizable").
            raise self._refusal(
                f"{error}. Without a quorum etcd may not list its members: bring the other "
                "control-plane nodes back first"
            ) from error
        if alarms := status.describe_alarms():
            # Another cure than the way out.
            raise EtcdAlarm(f"{self._refused}: {alarms}")
        reason = quorum.why_not_removable(status, quorum.leaving(cluster, status.members))
        if reason:
            orphans = ", ".join(map(str, quorum.orphaned(cluster, status.members)))
            told = f". The VNF does not have the machines of {orphans} any more" if orphans else ""
            raise self._refusal(f"{reason}{told}")
        names = [cluster.topology.name(node) for node in cluster.control_plane]
        try:
            is_any_whole = any(_is_whole(host, name) for name in names)
        except (CommandFailed, WaitTimeout) as error:
            raise self._refusal(f"the API does not answer: {error}") from error
        if not is_any_whole:
            raise ClusterError(
                f"{self._refused}: on none of the control-plane nodes that stay "
                f"({', '.join(names)}) all of {', '.join(sorted(_COMPONENTS))} are ready"
            )

    def _refusal(self, reason: str) -> MgmtDriverError:
        ending = f". {self._way_out}" if self._way_out else ""
        return NoQuorum(f"{self._refused}: {reason}{ending}")


def _is_whole(host: Host, name: str) -> bool:
    """Whether all components of a control-plane node are ready, as kubelet finds them."""
    pods = kubectl.list_objects(
        host, "pods", "--namespace", "kube-system", "--selector", "tier=control-plane",
        "--field-selector", f"spec.nodeName={name}",
    )
    ready = {p["metadata"]["labels"].get("component") for p in pods if kubectl.is_ready(p)}
    return ready >= _COMPONENTS


class CheckEtcdMembers(Check[Cluster]):
    """Preflight of scaling: see that etcd has no alarm, and healthy voters.

    kubeadm joins nobody to an etcd that has an unhealthy member, nor ends soon if etcd takes no
    writes; and who scales in can heal first.

    :param staying: the control-plane nodes that must have a healthy voter: if the control plane is
        scaled, those that were there before, and stay
    """

    title = "check the members of etcd"

    def __init__(self, staying: Sequence[Node]) -> None:
        self._staying = staying

    def check(self, host: Host, cluster: Cluster) -> None:
        status = etcd.read_status(host, cluster)
        states = {member.name: status.state(member) for member in status.members}
        found = {n: states.get(n, "no member") for n in map(cluster.topology.name, self._staying)}
        lacking = [f"{n} ({state})" for n, state in sorted(found.items()) if state != HEALTHY]
        if alarms := status.describe_alarms():
            raise EtcdAlarm(f"the VNF cannot be scaled now: {alarms}")
        if lacking:
            raise ClusterError(
                "the VNF cannot be scaled now: etcd has no healthy voter on "
                f"{', '.join(lacking)}. Heal the machine first"
            )


class _RemoveMembers(Change[Cluster, Sequence[Member]]):
    """Remove members one after another, as long as a quorum stands.

    A snapshot is saved on the leader before, and the leadership moves to a member that stays.
    """

    def describe(self, leaving: Sequence[Member]) -> str:
        return ", ".join(map(str, leaving))

    def act(self, host: Host, cluster: Cluster, leaving: Sequence[Member]) -> None:
        status = etcd.read_status(host, cluster)
        if status.alarms:
            LOG.warning("a snapshot is saved all the same: %s", status.describe_alarms())
        path = upkeep.save_snapshot(host, cluster)
        LOG.info("etcd's snapshot lies on %s: %s", host.node, path)
        left = quorum.in_order(status, leaving)
        while left:
            status = etcd.read_status(host, cluster)
            reason = quorum.why_not_removable(status, left[:1])
            if reason:
                raise NoQuorum(reason)
            quorum.move_leader(host, cluster, status, left)
            quorum.remove(host, cluster, left.pop(0))


class RemoveEtcdMembers(_RemoveMembers):
    """Remove orphaned members and the members that leave, unless etcd needs them."""

    title = "remove etcd members"

    def look(self, host: Host, cluster: Cluster) -> Sequence[Member] | None:
        return quorum.leaving(cluster, etcd.list_members(host, cluster)) or None


class RemoveOrphanedMembers(_RemoveMembers):
    """Remove members of etcd without a machine, which a failed scale-out has left.

    Each of them counts for the quorum.
    """

    title = "remove orphaned etcd members"

    def look(self, host: Host, cluster: Cluster) -> Sequence[Member] | None:
        return quorum.orphaned(cluster, etcd.list_members(host, cluster)) or None
