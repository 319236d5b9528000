"""The quorum of etcd: which members may leave, in which order, and their removal."""

import functools
import logging
from collections.abc import Collection, Sequence

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.etcd import etcd
from mgmt_drivers.cluster.etcd.etcd import EtcdStatus, Member
from mgmt_drivers.cluster.nodes import transient
from mgmt_drivers.cluster.topology import NODE_NAME
from mgmt_drivers.errors import NoQuorum
from mgmt_drivers.machine.host import Host

LOG = logging.getLogger(__name__)

_NO_MEMBER = "etcdserver: member not found"
_FEWEST_VOTERS = 2  # that work


def leaving(cluster: Cluster, members: Sequence[Member]) -> list[Member]:
    """The orphaned members, then the members on control-plane nodes that leave.

    A member is on a node that leaves if it has the node's name and address, both whole. A member
    that never started has no name; its address alone tells.
    """
    topology = cluster.topology
    nodes = {topology.name(n): topology.address_of(n) for n in cluster.leaving_control_plane}
    own = [
        member
        for member in members
        if any(member.is_at(ip) and member.name in (name, "") for name, ip in nodes.items())
    ]
    return [*(member for member in orphaned(cluster, members) if member not in own), *own]


def orphaned(cluster: Cluster, members: Sequence[Member]) -> list[Member]:
    """The members on control-plane nodes whose machines are not, or no longer, in the VNF.

    Others may have been joined by hand.
    """
    nodes = cluster.topology.control_plane
    names = {*map(cluster.topology.name, nodes)}
    addresses = [*map(cluster.topology.address_of, nodes)]
    return [
        member
        for member in members
        if (not member.name or NODE_NAME.fullmatch(member.name))
        and member.name not in names
        and not any(map(member.is_at, addresses))
    ]


def why_not_removable(status: EtcdStatus, leaving: Collection[Member]) -> str:
    """Why etcd cannot lose these members one after another; empty when it can.

    After each removal a quorum of healthy voters must stand (etcd's FAQ,
    "What is failure tolerance?"), and two of them, so that the data are never on one disk alone.
    """
    others = [str(m) for m in status.members if not m.is_voter and m not in leaving]
    if others:
        return (
            f"etcd has members that are not voters: {', '.join(others)}. Heal the control-plane "
            "node at that address first, which takes it out of etcd"
        )
    left = list(status.members)
    for member in in_order(status, leaving):
        left.remove(member)
        reason = _why_no_quorum(left, member, status)
        if reason:
            return reason
        healthy = [m for m in left if m.id in status.healthy]
        if len(healthy) < _FEWEST_VOTERS:
            return (
                f"without {member} all data of etcd would be on one disk, that of {healthy[0]}. "
                "Heal the control-plane nodes one after another, each in a request of its own"
            )
    # The voters that there are decide, those that leave among them.
    voters = [m for m in status.members if not m.is_learner]
    shortage = _describe_shortage(voters, status) if leaving else ""
    return shortage and f"etcd has {len(voters)} voters, {shortage}"


def _why_no_quorum(left: Sequence[Member], member: Member, status: EtcdStatus) -> str:
    """Why the members that are left have no quorum without a voter; empty if they have."""
    shortage = _describe_shortage(left, status)
    return shortage and (
        f"etcd has {len(left) + 1} voters; without {member} there are {len(left)}, {shortage}"
    )


def _describe_shortage(voters: Sequence[Member], status: EtcdStatus) -> str:
    """How many of the voters are healthy, and how many must be; empty if they have a quorum."""
    healthy = [m for m in voters if m.id in status.healthy]
    quorum = len(voters) // 2 + 1
    if len(healthy) >= quorum:
        return ""
    unhealthy = status.describe([m for m in voters if m not in healthy])
    return (
        f"of which {quorum} must be healthy and {len(healthy)} are (unhealthy: {unhealthy}). "
        "Bring the other control-plane nodes back first"
    )


def in_order(status: EtcdStatus, leaving: Collection[Member]) -> list[Member]:
    """The order of removal: members without a vote first, then unhealthy ones, then the rest.

    The first leave the quorum as it is, and each unhealthy one that goes makes it safer. The rest
    keep their order, in which orphaned members, whose machines may go, are before members on
    nodes. The members are returned as they are in the status; those that have gone since are left
    out.
    """
    present = {member.id: member for member in status.members}
    left = [present[member.id] for member in leaving if member.id in present]
    return sorted(left, key=lambda member: (member.is_voter, member.id in status.healthy))


def purge(host: Host, cluster: Cluster, address: str) -> None:
    """Remove orphaned members, and members that a failed join has left.

    A failed join leaves a member at the machine's address, or a member that never started.

    :raises MgmtDriverError: if such a member votes, and the others have no quorum without it
    """
    listed = etcd.list_members(host, cluster)
    orphans = orphaned(cluster, listed)
    for member in listed:
        if not member.is_at(address) and member.name and member not in orphans:
            continue
        if member.is_voter:
            status = etcd.read_status(host, cluster)
            left = [m for m in status.members if m.id != member.id and not m.is_learner]
            reason = _why_no_quorum(left, member, status)
            if reason:
                raise NoQuorum(
                    f"{member} is left of a join that failed, and must stay: {reason}"
                )
        remove(host, cluster, member)


def move_leader(
    host: Host, cluster: Cluster, status: EtcdStatus, leaving: Collection[Member]
) -> None:
    """Move the leadership to a member that stays; raises MgmtDriverError if no healthy one does."""
    leader = next((m for m in in_order(status, leaving) if m.id == status.leader), None)
    if leader is None or leader.id not in status.healthy:
        return
    staying = [m for m in status.members if m not in leaving and m.is_voter]
    successor = next((member for member in staying if member.id in status.healthy), None)
    if successor is None:
        raise NoQuorum(
            f"etcd's leader {leader} leaves, and no healthy voter stays to lead (unhealthy: "
            f"{status.describe(staying)}). Bring the other control-plane nodes back first"
        )
    seen = etcd.run(host, cluster, leader.client_urls[0], "move-leader", f"{successor.id:x}")
    if not seen.ok:  # without it, they elect one
        LOG.warning("etcd's leader %s does not step down: %s", leader, seen.tail)


def remove(host: Host, cluster: Cluster, member: Member) -> None:
    """Remove a member; one that is gone is fine."""
    words = ("member", "remove", f"{member.id:x}")
    request = functools.partial(etcd.run, host, cluster, etcd.LOCAL, *words, tolerated=_NO_MEMBER)
    transient.retry(host.clock, request)
