"""Operations on a simulated cluster whose conductor dies, and leaves nothing behind."""

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.inventory import Node
from mgmt_drivers.operations import modify, renew, scale_in, scale_out
from mgmt_drivers.testing.fakes import MemoryStore
from mgmt_drivers.testing.simulated_cloud import MASTERS, WORKERS, SimulatedCloud, new_node
from mgmt_drivers.testing.simulation import SimulatedSession

BEFORE, AFTER = "before", "after"
# How an operation that was killed ends. Its new machines go with ``FAIL``, later with ``LATE``. The
# machine that the other operation heals dies as well with ``DIES``.
RETRY, FAIL, LATE = "retry", "fail", "fail, and machines go late"
DIES = "fail, and another machine dies"
VERSION = {"kubernetes_version": "1.36.4"}
_SNAPSHOT = "/var/lib/etcd/snapshot.db"
_WANTED = {"kubernetes_version": "1.37"}
_ADDRESSES = {"master": ("10.10.0.12", "10.10.0.121"), "worker": ("10.10.0.20", "10.10.0.200")}


class Killed(BaseException):
    """The conductor is dead."""


class Conductor:
    """Dies before or after the Nth command; then no command runs, and nothing is saved."""

    def __init__(self, number: int, when: str) -> None:
        self._number, self._when = number, when
        self._count, self.is_dead = 0, False

    def services(self, cloud: SimulatedCloud) -> Services:
        services = cloud.services(self._before, self._after)
        return dataclasses.replace(services, threads=1, store=_Store(self, cloud.store))

    def _before(self, session: SimulatedSession, argv: Sequence[str]) -> None:
        self._count += not self.is_dead
        self._die(BEFORE)

    def _after(self, session: SimulatedSession, argv: Sequence[str]) -> None:
        self._die(AFTER)

    def _die(self, when: str) -> None:
        self.is_dead |= self._count == self._number and when == self._when
        if self.is_dead:
            raise Killed


class _Store:
    def __init__(self, conductor: Conductor, store: MemoryStore) -> None:
        self._conductor, self._store = conductor, store

    def load(self, key: str, default: Any) -> Any:
        return self._store.load(key, default)

    def save(self, key: str, value: Any) -> None:
        if not self._conductor.is_dead:
            self._store.save(key, value)

    save_secret = save


class Story:
    """An operation of a cluster, which ``run`` also repeats."""

    endings: tuple[str, ...] = (RETRY, FAIL)
    joins = True  # and revokes join credentials that others have left

    def __init__(self, cloud: SimulatedCloud) -> None:
        self.cloud = cloud

    def run(self, services: Services) -> None:
        raise NotImplementedError

    @property
    def new(self) -> Sequence[Node]:
        """The machines that the operation has brought."""
        return ()

    def fail(self) -> None:
        """End the operation: what it has saved is lost, as in Tacker's v2 API."""
        self.cloud.store.kept.clear()


class _ScaleOut(Story):
    role = "worker"
    endings: tuple[str, ...] = (RETRY, FAIL, LATE)

    def __init__(self, cloud: SimulatedCloud) -> None:
        super().__init__(cloud)
        number = {"master": 100, "worker": 200}[self.role]
        made = enumerate(_ADDRESSES[self.role], start=number)
        self._new = [new_node(self.role, n, address) for n, address in made]
        for node in self._new:
            cloud.arrive(node)

    @property
    def new(self) -> Sequence[Node]:
        return self._new

    def run(self, services: Services) -> None:
        request = self.cloud.request(*(node.vnfc_id for node in self._new))
        scale_out.scale_out(request, services, self.cloud.vims)


class _ScaleOutMasters(_ScaleOut):
    role = "master"
    endings = (RETRY, FAIL, LATE, DIES)


class _ScaleIn(Story):
    joins = False

    def __init__(self, cloud: SimulatedCloud) -> None:
        super().__init__(cloud)
        self._node = cloud.machine(WORKERS[1]).node

    def run(self, services: Services) -> None:
        request = self.cloud.request(self._node.vnfc_id)
        scale_in.scale_in(request, services, self.cloud.vims)
        del self.cloud.world.machines[self._node.server_id]


class _Heal(Story):
    address = WORKERS[0]
    endings = (RETRY,)

    def __init__(self, cloud: SimulatedCloud) -> None:
        super().__init__(cloud)
        self._old: Node | None = cloud.machine(self.address).node
        self._vnfc = self._old.vnfc_id

    def run(self, services: Services) -> None:
        if self._old:
            self.cloud.heal_start(self.cloud.request(self._vnfc), services)
            self.cloud.replaced(self._old)
            self._old = None
        self.cloud.heal_end(self.cloud.request(self._vnfc), services)


class _HealMaster(_Heal):
    address = MASTERS[0]

    def run(self, services: Services) -> None:
        """Heal the master, or the whole VNF if the error says so of an etcd without a quorum."""
        if _has_quorum(self.cloud):
            super().run(services)
            return
        try:
            super().run(services)
        except MgmtDriverError as error:
            assert "heal the whole VNF" in str(error), f"{error} names no way out"
        else:
            raise AssertionError("a master was healed without a quorum")
        self.cloud.heal_start(self.cloud.request(), services)
        self.cloud.replace_all()
        self.cloud.heal_end(self.cloud.request(), services)


class _HealAnotherMaster(_Heal):
    address = MASTERS[1]


class _Renewal(Story):
    joins = False

    def run(self, services: Services) -> None:
        renew.renew(self.cloud.request(), services)


class _Upgrade(Story):
    joins = False

    def run(self, services: Services) -> None:
        modify.modify(self.cloud.request(), services, self.cloud.vims, _WANTED)


# Operations that are killed, each with the operations that somebody may ask for then.
STORIES: Mapping[str, tuple[type[Story], Sequence[type[Story]]]] = {
    "scale-out of workers": (_ScaleOut, (_HealMaster, _ScaleIn)),
    "scale-out of masters": (_ScaleOutMasters, (_HealMaster,)),
    "scale-in": (_ScaleIn, (_ScaleOut, _HealMaster)),
    "heal of a worker": (_Heal, (_ScaleIn, _ScaleOut)),
    "heal of a master": (_HealMaster, (_ScaleOut,)),
    "upgrade": (_Upgrade, (_ScaleOut, _HealMaster)),
    "renewal": (_Renewal, (_HealAnotherMaster, _ScaleOut)),
}


def kills(cloud: SimulatedCloud, name: str, step: int) -> Iterator[tuple[str, Callable[[], None]]]:
    """Kill an operation at each ``step``-th command; yields the kill in words, and its ending.

    :param cloud: is built anew for each kill
    :raises AssertionError: by the ending, if the cluster is not as it should be
    """
    made, others = STORIES[name]
    for number in itertools.count(1, step):
        for when, other, ending in itertools.product((BEFORE, AFTER), others, made.endings):
            cloud.build()
            cloud.world.have(f"v{VERSION['kubernetes_version']}")
            story, conductor = made(cloud), Conductor(number, when)
            with contextlib.suppress(Killed):
                story.run(conductor.services(cloud))
            if not conductor.is_dead:
                return
            told = f"{name}, killed {when} command {number}, {ending}, {other.__name__}"
            yield told, functools.partial(_end, cloud, story, other, ending)


def _end(cloud: SimulatedCloud, story: Story, other: type[Story], ending: str) -> None:
    new = {node.server_id for node in story.new}
    if ending in (FAIL, DIES):
        _delete(cloud, new)
    if ending == LATE:
        cloud.strangers = new
    if ending != RETRY:
        story.fail()
    if ending == DIES:
        cloud.machine(_HealMaster.address).alive = False
    other(cloud).run(cloud.services())
    _check_joined(cloud)
    if ending == LATE:
        _delete(cloud, new)
    _check_quorum(cloud)
    if ending == RETRY:
        story.run(cloud.services())
    _check(cloud)
    # A node on which an upgrade has failed stays cordoned until the upgrade is repeated.
    world, reasons = cloud.world, {kubectl.LEAVING, *([kubectl.UPGRADE] if ending == RETRY else [])}
    closed = [name for name in world.nodes if reasons & _cordoned(world.nodes[name])]
    assert not closed, f"{closed} are cordoned"
    left = other.joins and (world.tokens or world.certificates)
    assert not left, "join credentials are left"


def _cordoned(node: Mapping[str, Any]) -> set[str]:
    return {*node["metadata"].get("annotations", {}).values()}


def _delete(cloud: SimulatedCloud, servers: Collection[str]) -> None:
    for server in servers:
        del cloud.world.machines[server]


def _has_quorum(cloud: SimulatedCloud) -> bool:
    return len(cloud.world.alive_members()) * 2 > len(cloud.world.members)


def _check_quorum(cloud: SimulatedCloud) -> None:
    members, alive = cloud.world.members, cloud.world.alive_members()
    assert _has_quorum(cloud), f"{len(alive)} of {len(members)} members live"


def _check_joined(cloud: SimulatedCloud) -> None:
    """Check that machines have joined with the cluster's release."""
    world = cloud.world
    came = [m for m in world.machines.values() if m.came and m.name in world.nodes]
    strangers = [m for m in came if m.node.server_id in cloud.strangers]
    releases = {m.running for m in came if m not in strangers}
    assert releases <= {world.release}, f"{releases} have joined {world.release}"


def _check(cloud: SimulatedCloud) -> None:
    """Check quorum, orphans and leftovers of a cluster on which all operations ended."""
    world = cloud.world
    _check_quorum(cloud)
    masters = {m.name for m in world.machines.values() if m.role == "master"}
    assert masters == {m["name"] for m in world.members}, "members of etcd are orphans"
    left = [m.name for m in world.machines.values() if f"{_SNAPSHOT}.part" in m.files]
    assert not left, f"{left} have a part of a snapshot"
