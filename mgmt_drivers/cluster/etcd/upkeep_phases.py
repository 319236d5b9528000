"""Upkeep of etcd: give back space that its members do not need, and end the alarm NOSPACE."""

from mgmt_drivers.clock import NotYet
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.etcd import etcd, upkeep
from mgmt_drivers.cluster.etcd.etcd import HEALTHY, Database, EtcdStatus, Member
from mgmt_drivers.engine.phase import DEPENDS, Change, Prediction
from mgmt_drivers.engine.trace import UNCHANGED
from mgmt_drivers.errors import EtcdAlarm, MachineUnfit
from mgmt_drivers.machine.host import Host

_LEAST = 1 << 20  # bytes that a defragmentation gives back
_LIMIT = 120.0  # seconds for a member to be healthy again
_MIB = 1 << 20
_WORK_LIMIT = 600.0  # seconds to compact or defragment gigabytes
_COMPACTED = "required revision has been compacted"


def is_needed(host: Host, status: EtcdStatus) -> bool:
    """Whether a member has no space left, or little of it, and could have much more."""
    wasteful = [found for found in status.databases.values() if found.in_use < found.size / 2]
    return status.lacks_space or any(
        found.size > upkeep.read_quota(host, found) / 2 for found in wasteful
    )


class CompactEtcd(Change[Cluster, int]):
    """Let etcd forget old revisions, if it has no space left: kube-apiserver cannot then."""

    title = "compact etcd"

    def look(self, host: Host, cluster: Cluster) -> int | None:
        """The newest revision, which stays; raises MgmtDriverError at any other alarm."""
        status = etcd.read_status(host, cluster)
        if alarms := status.describe_alarms(besides=etcd.NO_SPACE):
            raise EtcdAlarm(f"etcd cannot be defragmented now: {alarms}")
        return status.revision if status.lacks_space else None

    def act(self, host: Host, cluster: Cluster, revision: int) -> None:
        words = ("compaction", "--physical", str(revision))
        etcd.run(host, cluster, etcd.LOCAL, *words, timeout=_WORK_LIMIT, tolerated=_COMPACTED)


class DefragmentEtcd(Change[Cluster, Database]):
    """Defragment the machine's member, and wait until the member is healthy again."""

    title = "defragment etcd"

    def look(self, host: Host, cluster: Cluster) -> Database | None:
        status = etcd.read_status(host, cluster)
        member = _member(host, cluster, status)
        found = status.databases.get(member.id) if member else None
        return found if found and found.size - found.in_use >= _LEAST else None

    def predict(self, host: Host, cluster: Cluster) -> Prediction:
        found = super().predict(host, cluster)
        if found.outcome == UNCHANGED and etcd.read_status(host, cluster).lacks_space:
            return Prediction(DEPENDS, "on what the compaction frees")
        return found

    def describe(self, database: Database) -> str:
        return f"{database.size // _MIB} MiB, of which {database.in_use // _MIB} are in use"

    def act(self, host: Host, cluster: Cluster, database: Database) -> None:
        free = host.run("df", "--output=avail", "--block-size=1M", upkeep.DATA).split()[1]
        # etcd writes a new file beside the old one.
        if not free.isdecimal() or int(free) <= database.in_use // _MIB:
            raise MachineUnfit(
                f"{upkeep.DATA} has {free[:20]} MiB free, and a defragmentation needs "
                f"{database.in_use // _MIB + 1}: remove what nobody needs"
            )
        # The member answers nobody meanwhile.
        etcd.run(host, cluster, etcd.LOCAL, "defrag", timeout=_WORK_LIMIT, tolerated="")

        def healthy() -> None:
            status = etcd.read_status(host, cluster)
            member = _member(host, cluster, status)
            state = status.state(member) if member else "no member"
            if state != HEALTHY:
                raise NotYet(state)

        host.clock.until(healthy, _LIMIT, "a healthy member of etcd after its defragmentation")


def _member(host: Host, cluster: Cluster, status: EtcdStatus) -> Member | None:
    return next((m for m in status.members if m.name == cluster.name(host)), None)


class EndNoSpace(Change[Cluster, EtcdStatus]):
    """End etcd's alarm NOSPACE, which stays armed otherwise, if all databases have space again."""

    title = "end the alarm of etcd"

    def look(self, host: Host, cluster: Cluster) -> EtcdStatus | None:
        status = etcd.read_status(host, cluster)
        return status if status.lacks_space else None

    def act(self, host: Host, cluster: Cluster, status: EtcdStatus) -> None:
        for member in status.members:
            found = status.databases.get(member.id)
            if found and found.size >= (quota := upkeep.read_quota(host, found)):
                raise EtcdAlarm(
                    f"etcd's member {member} has still {found.size // _MIB} MiB, and its quota is "
                    f"{quota // _MIB} MiB: the alarm NOSPACE would come back. Delete objects that "
                    "nobody needs, or raise `--quota-backend-bytes` of etcd on each control-plane "
                    "node (in the guide: \"Alarms of etcd\"), then repeat the operation"
                )
        etcd.run(host, cluster, etcd.LOCAL, "alarm", "disarm", tolerated="")
