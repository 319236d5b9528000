"""etcd, asked on a control-plane node, in etcd's own container: its members and their status.

etcd is asked neither through the virtual IP nor through the Kubernetes API, which has no answer if
etcd has no quorum.
"""

import json
import logging
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Protocol
from urllib.parse import urlsplit

from mgmt_drivers import grammar
from mgmt_drivers.cluster.nodes import transient
from mgmt_drivers.cluster.packages.runtime import ContainerRuntime, exec_prefix
from mgmt_drivers.errors import EtcdError, printable
from mgmt_drivers.machine.host import Host
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
LOCAL = "https://127.0.0.1:2379"
_NO_LEADER = "etcdserver: no leader"
_NO_QUORUM = ("deadline exceeded", "request timed out", _NO_LEADER)
_LIMIT = 10.0  # seconds for etcdctl
_STATUS_LIMIT = 5.0  # seconds for each member to say how it is, which it knows by itself
_LARGEST_ID = 2**64 - 1
# As Maintenance.Status writes it among a member's errors: each member tells all of the cluster.
_ALARM = re.compile(r"(?:memberID:\s*(\d{1,20})\s+)?alarm:\s*([A-Z]+)")
_RELEASE = re.compile(r"(\d{1,5})\.(\d{1,5})\.(\d{1,5})(?!\d)")
NO_SPACE = "NOSPACE"
HEALTHY = "healthy"  # the state of a voter
_CURES = {
    NO_SPACE: transient.NO_SPACE_CURE,
    "CORRUPT": "the members of etcd disagree about the data, and etcd refuses all requests. See "
    "\"Alarms of etcd\" in the guide: find the member whose data are wrong, let etcd go on without "
    "it, and heal its control-plane node",
}
_GRACE = 60.0  # seconds for etcdctl to time out by itself


class Running(Protocol):
    """The part of a cluster that etcd is asked through: the container runtime of its machine."""

    @property
    def runtime(self) -> ContainerRuntime: ...

    def name(self, host: Host) -> str:
        """The machine's node name."""


class EtcdUnreadable(EtcdError):
    """etcd does not list its members."""


@dataclass(frozen=True)
class Member:
    """A member as etcd lists it, known by its id alone; one that never started has no name."""

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
    """A member's database in bytes: its size, what is in use, its quota (0 before etcd 3.6)."""

    size: int
    in_use: int
    quota: int


@dataclass(frozen=True)
class EtcdStatus:
    """The members, those of them (by id) that are healthy, and the leader's id, 0 for none.

    ``errors`` are those that members tell of themselves. ``alarms`` are of the whole cluster, and
    make no member unhealthy: the kind, and the id of the member that is meant, 0 if none is.
    ``releases`` are those of the members (by id) that tell theirs, as numbers.
    """

    members: tuple[Member, ...]
    healthy: frozenset[int]
    leader: int
    errors: Mapping[int, str] = field(default_factory=dict)
    alarms: frozenset[tuple[str, int]] = frozenset()
    databases: Mapping[int, Database] = field(default_factory=dict)
    revision: int = 0
    releases: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    @property
    def lacks_space(self) -> bool:
        return any(kind == NO_SPACE for kind, _ in self.alarms)

    def state(self, member: Member) -> str:
        if member.id not in self.healthy:
            return self.errors.get(member.id, "no answer")
        return HEALTHY if member.is_voter else "not a voter"

    def describe(self, members: Collection[Member]) -> str:
        return ", ".join(f"{member}: {self.state(member)}" for member in members) or "none"

    def describe_alarms(self, besides: str = "") -> str:
        """The alarms besides one kind, each with its cure; empty if there are none."""
        names = {member.id: str(member) for member in self.members}
        return ". ".join(
            f"etcd has the alarm {kind} of {names.get(id_, f'the member with the id {id_:x}')}: "
            f"{_CURES.get(kind, 'see the documentation of etcd')}"
            for kind, id_ in sorted(self.alarms)
            if kind != besides
        )


def list_members(host: Host, cluster: Running) -> list[Member]:
    """Ask etcd on this machine for its members.

    Without a quorum, what it knows by itself, if its etcdctl can ask for that (3.6 or later).

    :raises EtcdUnreadable: when it does not answer
    """
    words = ("member", "list", "--write-out=json")
    seen = asked = run(host, cluster, LOCAL, *words)
    if not asked.ok and any(sign in asked.stderr for sign in _NO_QUORUM):
        seen = run(host, cluster, LOCAL, *words, "--consistency=s")
    if not seen.ok:
        raise EtcdUnreadable(f"etcd's member list cannot be read: {asked.tail}")
    return [_member(entry) for entry in json.loads(seen.stdout)["members"]]


def read_status(host: Host, cluster: Running) -> EtcdStatus:
    """Ask each member how it is: what it answers, it answers without a quorum."""
    listed = list_members(host, cluster)
    urls = ",".join(member.client_urls[0] for member in listed if member.client_urls)
    # Its exit status tells that one of them does not answer.
    words = ("endpoint", "status", "--write-out=json")
    seen = run(host, cluster, urls, *words, timeout=_STATUS_LIMIT)
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
        releases={
            answer["header"]["member_id"]: tuple(map(int, release.groups()))
            for answer in answers
            if (release := _RELEASE.match(str(answer.get("version"))))
        },
    )


def _bytes(told: Any) -> int:
    return told if type(told) is int and told > 0 else 0


def run(
    host: Host,
    cluster: Running,
    endpoints: str,
    *words: str,
    timeout: float = _LIMIT,
    tolerated: str | None = None,
) -> Result:
    """Run etcdctl; if ``tolerated`` is given, a failure without this text is an error."""
    prefix = (*exec_prefix(cluster.runtime, cluster.name(host), "etcd"), *_ETCDCTL)
    options = (f"--command-timeout={timeout:g}s", f"--endpoints={endpoints}")
    seen = host.ask(*prefix, *options, *words, timeout=timeout + _GRACE)
    is_tolerated = tolerated is None or (tolerated and tolerated in seen.stderr)
    if not seen.ok and not is_tolerated:
        raise EtcdError(f"etcdctl: {seen.tail}")
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
