"""Outlines of the operations for the guide: their phases in order, and the machines of each.

An outline is the trace of an operation on the simulated cluster, with everything that parameters
can ask for. What the guide shows is what the code does.
"""

import functools
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from mgmt_drivers.cluster.packages.repository_params import CA_FILE, KEY_FILE
from mgmt_drivers.engine.phase import Phase
from mgmt_drivers.engine.services import Services
from mgmt_drivers.engine.trace import RUNNING
from mgmt_drivers.errors import CommandFailed, MgmtDriverError
from mgmt_drivers.inventory import Contents, Placement
from mgmt_drivers.operations import (
    defragment,
    heal,
    instantiate,
    modify,
    registry,
    renew,
    rotate,
    scale_in,
    scale_out,
)
from mgmt_drivers.testing.made_certificates import authority
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    NOT_NEW,
    PARAMS,
    STORAGE,
    WORKERS,
    SimulatedCloud,
    SimulatedRegistry,
    new_node,
    no_fault,
)
from mgmt_drivers.testing.simulation import Fault, SimulatedSession

_REPOSITORY = "package_repository"
_ALL = {
    **PARAMS,
    "etcd_backup": {"interval": "1h", "keep": 3},
    "proxy": {"http_proxy": "http://10.10.0.3:3128"},
    _REPOSITORY: None,
    "offline_registry": "mirror.example.com",
    "monitoring": {},
}
_OLD, _NEW = "1.36.4", {"kubernetes_version": "1.37"}
_NEW_MASTERS, _NEW_WORKER = ("10.10.0.12", "10.10.0.121"), "10.10.0.20"
_HEALED = (MASTERS[1], WORKERS[0], STORAGE)


@dataclass(frozen=True)
class Row:
    """A phase of an operation, its purpose, and the machines on which it runs, in words."""

    title: str
    purpose: str
    machines: str


@functools.cache
def outline(operation: str) -> Sequence[Row]:
    """The phases of an operation: the name of a function here, such as ``heal_start``."""
    with tempfile.TemporaryDirectory() as folder:
        return _STORIES[operation](Path(folder))


class _SpreadCloud(SimulatedCloud):
    """A VNF that keeps its workers on different compute hosts."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        path = folder / "BaseHOT/complex/top.yaml"
        hot = yaml.safe_load(path.read_text())
        hot["resources"]["workerNode"] = {
            "type": "OS::Nova::Server",
            "properties": {"scheduler_hints": {"group": {"get_resource": "group"}}},
        }
        path.write_text(yaml.safe_dump(hot))

    def contents(self, stack_id: str) -> Contents:
        placements = {server: Placement(f"compute-{server}", "nova") for server in (stack_id,)}
        return replace(super().contents(stack_id), placements=placements)


class _Story:
    """An operation, and the names of groups of its machines."""

    def __init__(self, folder: Path, cloud: SimulatedCloud | None = None) -> None:
        (folder / "package").mkdir()
        self.trace = folder / "trace"
        self.cloud = cloud or _SpreadCloud(folder / "package")
        self.cloud.params, self.cloud.operation = _ALL, NOT_NEW
        for name, content in ((KEY_FILE, b"a key"), (CA_FILE, authority("CA")[1])):
            path = self.cloud.package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def services(self, before: Fault = no_fault) -> Services:
        return replace(self.cloud.services(before, trace_folder=self.trace), threads=1)

    def arrive(self, is_member: bool = False) -> list[str]:
        """Let two masters and a worker come; returns their VNFCs."""
        for number, address in enumerate(_NEW_MASTERS, start=100):
            self.cloud.arrive(new_node("master", number, address), is_member)
        self.cloud.arrive(new_node("worker", 100, _NEW_WORKER), is_member)
        return self.cloud.ids(*_NEW_MASTERS, _NEW_WORKER)

    def rows(self, adjective: str = "", targets: Sequence[str] = ()) -> list[Row]:
        """The phases in the trace; ``adjective`` is for the targets, such as new."""
        groups = self._groups(adjective, {*targets})
        machines: dict[str, dict[str, None]] = {}
        for line in (self.trace / "vnf-1.jsonl").read_text().splitlines():
            record = json.loads(line)
            if record["outcome"] == RUNNING:
                continue
            vnfc = record["node"].partition("VNFC ")[2].partition(",")[0]
            machines.setdefault(record["phase"], {})[vnfc] = None
        purposes = {phase.title: _purpose(phase) for phase in all_phases()}
        return [
            Row(title, purposes[title], _name(groups, {*vnfcs}))
            for title, vnfcs in machines.items()
            if title in purposes
        ]

    def _groups(self, adjective: str, targets: Set[str]) -> Mapping[str, Set[str]]:
        by_role: dict[str, set[str]] = {"master": set(), "worker": set(), "storage": set()}
        for machine in self.cloud.world.machines.values():
            by_role[machine.role].add(machine.node.vnfc_id)
        groups = {
            "the control-plane nodes": by_role["master"],
            "the workers": by_role["worker"],
            "the nodes": by_role["master"] | by_role["worker"],
            "the storage server": by_role["storage"],
            "all machines": set().union(*by_role.values()),
        }
        if not targets:
            return groups
        others = {"the other control-plane nodes": by_role["master"] - targets}
        plain = {name.removeprefix("the ").removeprefix("all "): g for name, g in groups.items()}
        chosen = {f"the {adjective} {name}": group & targets for name, group in plain.items()}
        return {**groups, **others, **chosen}


def all_phases() -> Iterator[type[Phase[Any]]]:
    """The classes of phases that have a title, in no order."""
    waiting: list[Any] = [Phase]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if hasattr(kind, "title") and ".test" not in kind.__module__:
            yield kind


def _purpose(phase: type[Phase[Any]]) -> str:
    """The first sentence that the phase's class says of itself."""
    assert phase.__doc__, phase
    return " ".join(phase.__doc__.split("\n\n")[0].split())


def _name(groups: Mapping[str, Set[str]], machines: Set[str]) -> str:
    """Name a set of machines, as far as they have a name together."""
    leader = next((m for m in machines if m.endswith(f"-{MASTERS[0]}")), None)
    if machines == {leader}:
        return "the leader"
    for name, group in groups.items():
        if group == machines:
            return name
    for name, group in groups.items():
        if group - {f"master-{MASTERS[0]}"} == machines:
            return f"{name} but the leader"
        if leader and group == machines - {leader}:
            return f"{name} and the leader"
    return "the control-plane nodes that answer"


def _instantiate(folder: Path) -> list[Row]:
    """Instantiate with Helm and without: login users get one kubeconfig or the other."""
    helm = {"helm": _ALL["helm"]}
    stories = []
    for name, params in (("without", {**_ALL, "helm": None}), ("with", {**_ALL, **helm})):
        (folder / name).mkdir()
        stories.append(_instantiate_with(folder / name, params))
    return _merge(*stories)


def _merge(rows: Sequence[Row], others: Sequence[Row]) -> list[Row]:
    """The rows of one outline, each row that only the other has behind its predecessor there."""
    merged = [*rows]
    for before, row in zip([None, *others], others, strict=False):
        if row.title not in [known.title for known in merged]:
            titles = [known.title for known in merged]
            merged.insert(titles.index(before.title) + 1 if before else 0, row)
    return merged


def _instantiate_with(folder: Path, params: Mapping[str, Any]) -> list[Row]:
    story = _Story(folder)
    story.cloud.params = dict(params)
    story.cloud.build(is_clustered=False)
    instantiate.instantiate(story.cloud.request(), story.services(), story.cloud.vims)
    return story.rows()


def _restore(folder: Path) -> list[Row]:
    story = _Story(folder)
    cloud = story.cloud
    cloud.params = {**_ALL, "helm": None}
    cloud.build(is_clustered=False)
    cloud.instantiate(cloud.services())
    request = replace(cloud.request(), restore_from="latest")
    heal.heal_start(request, cloud.services(), cloud.vims)
    cloud.replace_all()
    heal.heal_end(replace(cloud.request(), restore_from="latest"), story.services(), cloud.vims)
    return story.rows()


def _scale_out(folder: Path) -> list[Row]:
    story = _clustered(folder)
    new = story.arrive()
    scale_out.scale_out(story.cloud.request(*new), story.services(), story.cloud.vims)
    return story.rows("new", new)


def _undo_scale_out(folder: Path) -> list[Row]:
    """The phases behind the one that fails, which is the last before them."""
    story = _clustered(folder)
    new = story.arrive()

    def fail(session: SimulatedSession, argv: Sequence[str]) -> None:
        if "/readyz" in argv and f"https://{_NEW_MASTERS[0]}:6443" in argv:
            raise CommandFailed("kubectl", 1, "it fails")

    try:
        scale_out.scale_out(story.cloud.request(*new), story.services(fail), story.cloud.vims)
    except MgmtDriverError:
        rows = story.rows("new", new)
        return rows[[row.title for row in rows].index("verify the control plane") + 1 :]
    raise AssertionError("the scale-out did not fail")


def _roll_back_scale_out(folder: Path) -> list[Row]:
    story = _clustered(folder)
    story.arrive(is_member=True)
    for address in (*_NEW_MASTERS, _NEW_WORKER):
        del story.cloud.world.machines[story.cloud.machine(address).node.server_id]
    request = story.cloud.request()
    scale_out.roll_back_scale_out(request, story.services(), ["masterNode"])
    return story.rows()


def _scale_in(folder: Path) -> list[Row]:
    story = _clustered(folder)
    leaving = story.arrive(is_member=True)
    scale_in.scale_in(story.cloud.request(*leaving), story.services(), story.cloud.vims)
    return story.rows("leaving", leaving)


def _heal_start(folder: Path) -> list[Row]:
    story = _clustered(folder)
    targets = story.cloud.ids(*_HEALED)
    heal.heal_start(story.cloud.request(*targets), story.services(), story.cloud.vims)
    return story.rows("leaving", targets)


def _heal_end(folder: Path) -> list[Row]:
    story = _clustered(folder)
    cloud = story.cloud
    targets = cloud.ids(*_HEALED)
    heal.heal_start(cloud.request(*targets), cloud.services(), cloud.vims)
    for address in _HEALED:
        cloud.replaced(cloud.machine(address).node)
    heal.heal_end(cloud.request(*targets), story.services(), cloud.vims)
    return story.rows("new", targets)


def _upgrade(folder: Path) -> list[Row]:
    story = _clustered(folder, kubernetes_version=_OLD)
    story.cloud.world.have(f"v{_OLD}")
    modify.modify(story.cloud.request(), story.services(), story.cloud.vims, _NEW)
    return story.rows()


def _change(folder: Path) -> list[Row]:
    story = _clustered(folder, offline_registry=None, package_repository=PARAMS[_REPOSITORY])
    patch: dict[str, Any] = {"image_repository": "mirror.example.com/others"}
    patch["worker_node"] = {"labels": {"rack": "r7"}}
    modify.modify(story.cloud.request(), story.services(), story.cloud.vims, patch)
    return story.rows()


def _renew(folder: Path) -> list[Row]:
    story = _clustered(folder)
    renew.renew(story.cloud.request(), story.services())
    return story.rows()


def _defragment(folder: Path) -> list[Row]:
    story = _clustered(folder)
    defragment.defragment(story.cloud.request(), story.services())
    return story.rows()


def _rotate(folder: Path) -> list[Row]:
    story = _clustered(folder)
    rotate.rotate(story.cloud.request(), story.services())
    return story.rows()


def _registry(folder: Path) -> list[Row]:
    (folder / "registry").mkdir()
    cloud = SimulatedRegistry(folder / "registry")
    story = _Story(folder, cloud)
    cloud.build()
    bundles = cloud.have_bundles("bundle.tar")
    cloud.registry |= {"bundles": bundles}
    registry.instantiate(cloud.request(), story.services())
    return [replace(row, machines="the machine") for row in story.rows()]


def _clustered(folder: Path, **changes: Any) -> _Story:
    """A cluster whose certificates are due, without Helm: the login users have kubeconfigs."""
    story = _Story(folder)
    story.cloud.params = {**_ALL, "helm": None, **changes}
    story.cloud.build(is_clustered=False)
    story.cloud.instantiate(story.cloud.services())
    story.cloud.world.age(9.0)
    return story


_STORIES: Mapping[str, Callable[[Path], Sequence[Row]]] = {
    "instantiate": _instantiate,
    "restore": _restore,
    "scale_out": _scale_out,
    "undo_scale_out": _undo_scale_out,
    "roll_back_scale_out": _roll_back_scale_out,
    "scale_in": _scale_in,
    "heal_start": _heal_start,
    "heal_end": _heal_end,
    "upgrade": _upgrade,
    "change": _change,
    "renew": _renew,
    "defragment": _defragment,
    "rotate": _rotate,
    "registry": _registry,
}

