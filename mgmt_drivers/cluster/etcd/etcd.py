"""The members of etcd, asked and changed on a control-plane node, in etcd's own container.

Never through the virtual IP, nor through the Kubernetes API, which has no answer
where etcd has no quorum.
"""

import contextlib
import functools
import json
import logging
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Protocol
from urllib.parse import urlsplit

from mgmt_drivers import grammar
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.nodes import transient
from mgmt_drivers.cluster.packages.runtime import ContainerRuntime, exec_prefix
from mgmt_drivers.cluster.topology import NODE_NAME
from mgmt_drivers.errors import MgmtDriverError, printable
from mgmt_drivers.machine import files
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script
from mgmt_drivers.ssh.session import Result

LOG = logging.getLogger(__name__)

_PKI = "/etc/kubernetes/pki/etcd"
_ETCDCTL = (
    "etcdctl",
    f"--cacert={_PKI}/ca.crt",
    f"--cert={_PKI}/healthcheck-client.crt",
    f"--key={_PKI}/healthcheck-client.key",
    "--dial-timeout=3s",
)
_LOCAL = "https://127.0.0.1:2379"
_NO_LEADER = "etcdserver: no leader"
_NO_QUORUM = ("deadline exceeded", "request timed out", _NO_LEADER)
_NO_MEMBER = "etcdserver: member not found"
_FEWEST_VOTERS = 2  # that work
_DATA = "/var/lib/etcd"  # the same path in the container and on its machine
_SNAPSHOT = "snapshot.db"  # in it, until it is checked
_LIMIT = 10.0  # seconds for etcdctl
_STATUS_LIMIT = 5.0  # seconds for each member to say how it is, which it knows by itself
_SNAPSHOT_LIMIT = 300.0  # seconds
_UPKEEP_LIMIT = 600.0  # seconds to compact or defragment gigabytes
# Programs of etcd's image that check a snapshot: etcdctl lost it in 3.6 to etcdutl, new in 3.5.
_CHECKERS = ("etcdutl", "etcdctl")
_LARGEST_ID = 2**64 - 1
# As Maintenance.Status writes it among a member's errors: each member tells all of the cluster.
_ALARM = re.compile(r"(?:memberID:\s*(\d{1,20})\s+)?alarm:\s*([A-Z]+)")
NO_SPACE = "NOSPACE"
HEALTHY = "healthy"  # the state of a voter
_CURES = {
    NO_SPACE: transient.NO_SPACE_CURE,
    "CORRUPT": "the members of etcd disagree about the data, and etcd refuses all requests. See "
    "\"Alarms of etcd\" in the guide: find the member whose data are wrong, let etcd go on without "
    "it, and heal its control-plane node",
}
_MANIFEST = "/etc/kubernetes/manifests/etcd.yaml"
_QUOTA = re.compile(r"--quota-backend-bytes[= ]['\"]?(\d{1,19})")
_DEFAULT_QUOTA = 2 << 30  # bytes
_COMPACTED = "required revision has been compacted"
_PREPARE_SNAPSHOT = Script(__package__, "prepare-snapshot")
_GRACE = 60.0  # seconds for etcdctl to time out by itself


class Running(Protocol):
    """The part of a cluster that etcd is asked through: the container runtime of its machine."""

    @property
    def runtime(self) -> ContainerRuntime: ...

    def name(self, host: Host) -> str:
        """The machine's node name."""


class EtcdUnreadable(MgmtDriverError):
    """etcd does not list its members."""


@dataclass(frozen=True)
class Member:
    """A member as etcd lists it; one that never started has no name yet.

    Its id makes it the same member: name, URLs and vote may change between two lists.
    """

    id: int
    name: str = field(compare=False)
    peer_urls: tuple[str, ...] = field(compare=False)
    client_urls: tuple[str, ...] = field(compare=False)
    is_learner: bool = field(default=False, compare=False)

    @property
    def is_voter(self) -> bool:
        return bool(self.name) and not self.is_learner

    def __str__(self) -> str:
        name = printable(self.name) or "a member that never started"
        return f"{name} ({', '.join(self.peer_urls)})"

    def is_at(self, address: str) -> bool:
        """Whether its peers reach it at the address, which is compared as a whole."""
        return address in {urlsplit(url).hostname for url in self.peer_urls}


@dataclass(frozen=True)
class Database:
    """A member's database: its size, what of that is in use, and its quota, in bytes.

    A quota of 0 is not known: etcd tells the quota from 3.6 on.
    """

    size: int
    in_use: int
    quota: int


@dataclass(frozen=True)
class EtcdStatus:
    """The members, those of them (by id) that are healthy, and the leader's id, 0 for none.

    ``errors`` are those that members tell of themselves. ``alarms`` are of the whole cluster, and
    make no member unhealthy: the kind, and the id of the member that is meant, 0 if none is.
    """

    members: tuple[Member, ...]
    healthy: frozenset[int]
    leader: int
    errors: Mapping[int, str] = field(default_factory=dict)
    alarms: frozenset[tuple[str, int]] = frozenset()
    databases: Mapping[int, Database] = field(default_factory=dict)
    revision: int = 0

    @property
    def lacks_space(self) -> bool:
        return any(kind == NO_SPACE for kind, _ in self.alarms)

    def state(self, member: Member) -> str:
        """The member's state in words."""
        if member.id not in self.healthy:
            return self.errors.get(member.id, "no answer")
        return HEALTHY if member.is_voter else "no voter"

    def tell(self, members: Collection[Member]) -> str:
        """Members and their states in words."""
        return ", ".join(f"{member}: {self.state(member)}" for member in members) or "none"

    def tell_alarms(self, besides: str = "") -> str:
        """The alarms in words, each with its cure; empty if there are none.

        :param besides: a kind of alarm that is left out
        """
        names = {member.id: str(member) for member in self.members}
        return ". ".join(
            f"etcd has the alarm {kind} of {names.get(id_, f'the member with the id {id_:x}')}: "
            f"{_CURES.get(kind, 'see the documentation of etcd')}"
            for kind, id_ in sorted(self.alarms)
            if kind != besides
        )


def members(host: Host, cluster: Running) -> list[Member]:
    """Ask etcd on this machine for its members.

    Without a quorum, what it knows by itself, if its etcdctl can ask for that (3.6 or later).

    :raises EtcdUnreadable: when it does not answer
    """
    words = ("member", "list", "--write-out=json")
    seen = asked = _run(host, cluster, _LOCAL, *words)
    if not asked.ok and any(sign in asked.stderr for sign in _NO_QUORUM):
        seen = _run(host, cluster, _LOCAL, *words, "--consistency=s")
    if not seen.ok:
        raise EtcdUnreadable(f"etcd's member list cannot be read: {asked.tail}")
    return [_member(entry) for entry in json.loads(seen.stdout)["members"]]


def read_status(host: Host, cluster: Running) -> EtcdStatus:
    """Ask each member how it is: what it answers, it answers without a quorum."""
    listed = members(host, cluster)
    urls = ",".join(member.client_urls[0] for member in listed if member.client_urls)
    # Its exit status tells that one of them does not answer.
    words = ("endpoint", "status", "--write-out=json")
    seen = _run(host, cluster, urls, *words, timeout=_STATUS_LIMIT)
    answers = [entry["Status"] for entry in json.loads(seen.stdout or "null") or []]
    leaders = {answer.get("leader", 0) for answer in answers} - {0}
    # Where the others have none either, to be without a leader does not make a member unhealthy.
    forgiven = set() if leaders else {_NO_LEADER}
    told = {a["header"]["member_id"]: [*map(str, a.get("errors") or ())] for a in answers}
    alarms = {text: alarm for texts in told.values() for text in texts
              if (alarm := _ALARM.search(text))}
    errors = {id_: {*texts} - {*alarms} - forgiven for id_, texts in told.items()}
    return EtcdStatus(
        members=tuple(listed),
        healthy=frozenset(id_ for id_, texts in errors.items() if not texts),
        leader=leaders.pop() if len(leaders) == 1 else 0,
        errors={id_: printable("; ".join(sorted(t))) for id_, t in errors.items() if t},
        alarms=frozenset((alarm[2], int(alarm[1] or 0)) for alarm in alarms.values()),
        databases={
            answer["header"]["member_id"]: Database(
                *(_bytes(answer.get(key)) for key in ("dbSize", "dbSizeInUse", "dbSizeQuota"))
            )
            for answer in answers
        },
        revision=max((_bytes(answer["header"].get("revision")) for answer in answers), default=0),
    )


def _bytes(told: Any) -> int:
    return told if type(told) is int and told > 0 else 0


def read_quota(host: Host, database: Database) -> int:
    """The quota of a database in bytes, asked of a control-plane node if etcd does not tell it."""
    if database.quota:
        return database.quota
    given = _QUOTA.search(files.read(host, _MANIFEST))
    return int(given[1]) if given and int(given[1]) else _DEFAULT_QUOTA


def compact(host: Host, cluster: Running, revision: int) -> None:
    """Let etcd forget what was before a revision; its databases keep their sizes."""
    words = ("compaction", "--physical", str(revision))
    _run(host, cluster, _LOCAL, *words, timeout=_UPKEEP_LIMIT, tolerated=_COMPACTED)


def defragment(host: Host, cluster: Running) -> None:
    """Shrink the database of this machine's member, which answers nobody meanwhile."""
    _run(host, cluster, _LOCAL, "defrag", timeout=_UPKEEP_LIMIT, tolerated="")


def disarm(host: Host, cluster: Running) -> None:
    """End all alarms."""
    _run(host, cluster, _LOCAL, "alarm", "disarm", tolerated="")


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
    """The members on control-plane nodes that are no machines of the VNF (any more).

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
    "What is failure tolerance?"), and two of them, lest one disk holds all there is.
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
                f"without {member} all that etcd holds would lie on one disk, that of "
                f"{healthy[0]}. Heal the control-plane nodes one after another, each in a request "
                "of its own"
            )
    return ""


def _why_no_quorum(left: Sequence[Member], member: Member, status: EtcdStatus) -> str:
    """Why those that are left have no quorum without a voter; empty when they have."""
    healthy = [m for m in left if m.id in status.healthy]
    quorum = len(left) // 2 + 1
    if len(healthy) >= quorum:
        return ""
    unhealthy = status.tell([m for m in left if m not in healthy])
    return (
        f"etcd has {len(left) + 1} voters; without {member} there are {len(left)}, of "
        f"which {quorum} must be healthy and {len(healthy)} are (unhealthy: {unhealthy}). "
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
    """Remove orphaned members, and what a join that failed has left.

    That is a member of the machine at an address, or a member that never started.

    :raises MgmtDriverError: when it votes, and the others have no quorum without it
    """
    listed = members(host, cluster)
    orphans = orphaned(cluster, listed)
    for member in listed:
        if not member.is_at(address) and member.name and member not in orphans:
            continue
        if member.is_voter:
            status = read_status(host, cluster)
            left = [m for m in status.members if m.id != member.id and not m.is_learner]
            reason = _why_no_quorum(left, member, status)
            if reason:
                raise MgmtDriverError(
                    f"{member} is left of a join that failed, and must stay: {reason}"
                )
        remove(host, cluster, member)


def move_leader(
    host: Host, cluster: Cluster, status: EtcdStatus, leaving: Collection[Member]
) -> None:
    """Move the leadership from a member that leaves to one that stays.

    :raises MgmtDriverError: when no healthy voter stays
    """
    leader = next((m for m in in_order(status, leaving) if m.id == status.leader), None)
    if leader is None or leader.id not in status.healthy:
        return
    staying = [m for m in status.members if m not in leaving and m.is_voter]
    successor = next((member for member in staying if member.id in status.healthy), None)
    if successor is None:
        raise MgmtDriverError(
            f"etcd's leader {leader} leaves, and no healthy voter stays to lead (unhealthy: "
            f"{status.tell(staying)}). Bring the other control-plane nodes back first"
        )
    seen = _run(host, cluster, leader.client_urls[0], "move-leader", f"{successor.id:x}")
    if not seen.ok:  # without it, they elect one
        LOG.warning("etcd's leader %s does not step down: %s", leader, seen.tail)


def remove(host: Host, cluster: Cluster, member: Member) -> None:
    """Remove a member; one that is gone is fine."""
    words = ("member", "remove", f"{member.id:x}")
    request = functools.partial(_run, host, cluster, _LOCAL, *words, tolerated=_NO_MEMBER)
    transient.retry(host.clock, request)


def snapshot(host: Host, cluster: Cluster, name: str = "etcd-snapshot") -> str:
    """Save all that etcd holds on the machine's disk, checked; returns the file's path.

    :param name: of the file, less its ending; one of that name is replaced
    :raises MgmtDriverError: if the disk has too little space, or the snapshot is not whole
    """
    inside, kept = f"{_DATA}/{_SNAPSHOT}", f"{STATE_FOLDER}/{name}.db"
    host.sudo(*_PREPARE_SNAPSHOT.command(_DATA, _SNAPSHOT, STATE_FOLDER))
    words = ("snapshot", "save", inside)
    try:
        _run(host, cluster, _LOCAL, *words, timeout=_SNAPSHOT_LIMIT, tolerated="")
        host.sudo("chmod", "0600", inside)  # it holds the cluster's secrets
        _check_snapshot(host, cluster, inside)
        host.sudo("mv", inside, kept)
    except MgmtDriverError:
        with contextlib.suppress(MgmtDriverError):
            host.sudo("rm", "--force", inside, f"{inside}.part")  # etcd needs the space
        raise
    return kept


def _check_snapshot(host: Host, cluster: Cluster, path: str) -> None:
    """:raises MgmtDriverError: with the words of the program that finds fault with it"""
    tails = []
    for program in _CHECKERS:
        argv = (*exec_prefix(cluster.runtime, cluster.name(host), "etcd"), program)
        seen = host.ask(*argv, "snapshot", "status", path, timeout=_SNAPSHOT_LIMIT)
        if seen.ok:
            return
        tails.append(f"{program}: {seen.tail}")
    raise MgmtDriverError(f"the snapshot of etcd is not whole. {'. '.join(tails)}")


def _run(
    host: Host,
    cluster: Running,
    endpoints: str,
    *words: str,
    timeout: float = _LIMIT,
    tolerated: str | None = None,
) -> Result:
    """Run etcdctl.

    :param tolerated: where given, a failure without this text is an error
    """
    prefix = (*exec_prefix(cluster.runtime, cluster.name(host), "etcd"), *_ETCDCTL)
    options = (f"--command-timeout={timeout:g}s", f"--endpoints={endpoints}")
    seen = host.ask(*prefix, *options, *words, timeout=timeout + _GRACE)
    is_tolerated = tolerated is None or (tolerated and tolerated in seen.stderr)
    if not seen.ok and not is_tolerated:
        raise MgmtDriverError(f"etcdctl: {seen.tail}")
    return seen


def _member(entry: dict[str, Any]) -> Member:
    urls = {kind: tuple(entry.get(kind) or ()) for kind in ("peerURLs", "clientURLs")}
    id_ = entry["ID"]
    # Not to be mistaken for other words of a command, or for several URLs.
    is_number = type(id_) is int and 0 < id_ <= _LARGEST_ID
    if not is_number or not all(map(_is_server, chain(*urls.values()))):
        raise EtcdUnreadable("etcd lists a member with an odd id or URL")
    return Member(
        id=id_,
        name=str(entry.get("name", "")),
        peer_urls=urls["peerURLs"],
        client_urls=urls["clientURLs"],
        is_learner=entry.get("isLearner", False),
    )


def _is_server(url: str) -> bool:
    """Whether a URL has nothing but a host and perhaps a port: etcd allows its own no more."""
    parts = grammar.url(url)
    return parts is not None and url == f"{parts.scheme}://{parts.netloc}" and "@" not in url
