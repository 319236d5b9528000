"""The simulated cloud that accepted requests are carried out on, and what the drivers do to it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mgmt_drivers.cluster.cluster_params import NAME as KUBERNETES
from mgmt_drivers.engine.services import Services
from mgmt_drivers.inventory import Address, Contents, Node, Placement
from mgmt_drivers.operations import heal, instantiate, registry, scale_in, scale_out, upgrade
from mgmt_drivers.package import volume_names
from mgmt_drivers.registry.registry_params import NAME as REGISTRY
from mgmt_drivers.request import LcmRequest, Vnfc
from mgmt_drivers.ssh.connection import Endpoint
from mgmt_drivers.ssh.session import DEFAULT_TIMEOUT, Result, Stdin
from mgmt_drivers.testing.fake_cluster import MASTER_CP, STORAGE_CP, VIP_CP, WORKER_CP
from mgmt_drivers.testing.fakes import FakeClock, FakeStacks, MemoryStore, fed, named
from mgmt_drivers.testing.simulated_backup import HostKey
from mgmt_drivers.testing.simulated_cloud import Vims, no_fault
from mgmt_drivers.testing.simulation import NEWEST, Machine, SimulatedSession, World
from tools.fuzz import syntaxes
from tools.fuzz.packages import BACKUP, Package
from tools.fuzz.seeds import BEFORE, FLOATING_IP, RESTORED, Seed

VIP, PUBLIC = "10.10.0.110", "203.0.113.7"
NODE_ADDRESSES = {
    "master": ("10.10.0.1", "10.10.0.11", "10.10.0.111", "10.10.0.12", "10.10.0.121"),
    "worker": ("10.10.0.10", "10.10.0.101"),
    "storage": ("10.10.0.112",),
}
HOSTS = "127.0.0.1 localhost\n"  # what the image brought
REGISTRY_ROLE = "registry"
_CPS = {"master": MASTER_CP, "worker": WORKER_CP, "storage": STORAGE_CP}
_DAYS_LEFT = 9.0  # of the certificates of a cluster that is modified
_OK, _NO = Result(0), Result(1)

# What is done after the instantiation.
STORIES = ("", "scale out", "scale masters", "heal worker", "heal master", "heal storage")


@dataclass(frozen=True)
class Command:
    """What ran on a machine: its words, those of a script with its name first, and its input."""

    argv: tuple[str, ...]
    stdin: bytes

    @property
    def words(self) -> tuple[str, ...]:
        return named(self.argv)


@dataclass
class Rendering:
    """What a request has become: files and commands by machine."""

    machines: list[Machine] = field(default_factory=list)
    left: list[Machine] = field(default_factory=list)  # those of them that left the cluster
    commands: list[Command] = field(default_factory=list)

    def roles(self) -> Iterator[tuple[str, Machine]]:
        for machine in self.machines:
            yield role_of(machine), machine

    @property
    def nodes(self) -> set[str]:
        """The addresses of the cluster's nodes, which a machine has from the one it replaces."""
        return {
            machine.address
            for role, machine in self.roles()
            if role in ("master", "worker") and machine not in self.left
        }


def newest(version: str) -> str:
    """The release that the package repository has of a series, or that release."""
    series = version.removeprefix("v")
    return f"v{NEWEST.get(series) or (series if series.count('.') == 2 else f'{series}.0')}"


def role_of(machine: Machine) -> str:
    """master, worker, storage or registry."""
    roles = {cp: role for role, cp in _CPS.items()}
    return next((roles[cp] for cp in machine.node.addresses if cp in roles), REGISTRY_ROLE)


class RecordingSession(SimulatedSession):
    """A simulated machine that also has Docker, and any folders; it notes what it is told."""

    def __init__(self, world: World, machine: Machine, commands: list[Command]) -> None:
        super().__init__(world, machine, no_fault, no_fault)
        self._commands = commands

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: Stdin = None,
        sudo: bool = False,
        check: bool = True,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Result:
        self._commands.append(Command(tuple(argv), fed(stdin)))
        return super().run(argv, stdin=stdin, sudo=sudo, check=check, timeout=timeout)

    def hold(self, argv: Sequence[str], *, timeout: float = DEFAULT_TIMEOUT) -> Result:
        self._commands.append(Command(tuple(argv), b""))
        return super().hold(argv, timeout=timeout)

    def close(self) -> None:
        super().close()
        if self.machine.occupant is self:
            self.machine.occupant = None  # what is left of a machine is its disk

    def _env(self, words: list[str], stdin: bytes) -> Result:
        result = super()._env(words, stdin)
        machine = self.machine
        machine.kubeadm, machine.kubelet = map(newest, (machine.kubeadm, machine.kubelet))
        return result

    def _through_proxy(self, words: list[str], stdin: bytes) -> Result:
        return self._answer(words[1:], stdin)

    def _ss(self, words: list[str], stdin: bytes) -> Result:
        return _OK

    def _ask_registry(self, words: list[str], stdin: bytes) -> Result:
        wants_login = "/etc/private_registry/htpasswd" in self.machine.files
        return Result(0, f"HTTP/1.0 {401 if wants_login else 200} x\n")

    def _python3(self, words: list[str], stdin: bytes) -> Result:
        if not stdin:  # certificates are looked at
            return super()._python3(words, stdin)
        asked = json.loads(stdin)
        if isinstance(asked, list):  # of registries, which are all fine
            return Result(0, json.dumps([None] * len(asked)))
        return Result(0, "Loaded image: registry:2\n")

    def _exportfs(self, words: list[str], stdin: bytes) -> Result:
        text = self.machine.files.get("/etc/exports.d/mgmt-driver.exports", (b"", ""))[0].decode()
        return Result(0, "\n".join(text.splitlines()[1:]))

    def _applied(self, stdin: bytes) -> None:
        for document in syntaxes.objects(stdin.decode()):
            if document["kind"] == "Secret":
                self.world.accounts.add(document["metadata"]["name"])
            if document["kind"] == "List":
                for item in document["items"]:
                    self.world.volumes[item["metadata"]["name"]] = item

    def _docker(self, words: list[str], stdin: bytes) -> Result:
        verb, has = words[0], self.machine.images
        if words[:2] == ["container", "inspect"] or verb == "ps":
            return _NO if verb == "container" else Result(0, "etcd-container\n")
        if words[:2] == ["image", "inspect"]:
            return Result(0, "sha256:1\n") if words[-1] in has else _NO
        if verb == "exec":
            return self._etcdctl([word for word in words[2:] if not word.startswith("--")])
        if verb in ("tag", "pull"):
            has.add(words[-1])
        if verb == "info":
            text = self.machine.files["/etc/docker/daemon.json"][0]
            insecure = json.loads(text)["insecure-registries"]
            return Result(0, json.dumps({name: {"Secure": False} for name in insecure}))
        return _OK


class Cloud:
    """Machines, Heat, Tacker's store and its VIMs, for one VNF."""

    def __init__(self, package: Package, seed: Seed, params: Any) -> None:
        self.world, self.vims = World(), Vims()
        content = (package.folder / RESTORED).read_bytes().decode(errors="replace")
        self.world.package[content] = replace(self.world.saved(), told=BACKUP)
        self.rendering = Rendering()
        self._bare = package.request(seed, params)
        self._is_modification = seed.cluster is not None
        # The v1 API has its text.
        self._wanted = json.dumps(params) if seed.number % 2 else params
        if self._is_modification:
            self.world.release = f"v{BEFORE}"
        self._volumes = volume_names(package.folder, seed.flavour) if seed.has_storage else ()
        stacks = FakeStacks(self._contents)
        self._services = Services(stacks, MemoryStore(), None, 1.0, self._connect, FakeClock())

    def build(self) -> None:
        """Machines, as an accepted request wants them."""
        params = self._bare.additional_params
        if REGISTRY in params:
            self._arrive(Node("registry-0", "PrivateRegistryVDU", "0" * 32, {"CP1": "10.10.0.2"}))
            return
        is_balanced = params[KUBERNETES]["master_node"]["cluster_cp_name"] == VIP_CP
        has_storage = params[KUBERNETES].get("storage_server") is not None
        for role, number in (("master", 3 if is_balanced else 1), ("worker", 1), ("storage", 1)):
            for index in range(number if role != "storage" or has_storage else 0):
                self._arrive(_node(role, index))

    def validate(self) -> None:
        """What Tacker's hook does before any machine exists."""
        if REGISTRY in self._bare.additional_params:
            registry.validate(self._bare)
        elif self._is_modification:
            upgrade.validate(self._bare, self._services, self._wanted)
        else:
            instantiate.validate(self._bare, self.vims)

    def carry_out(self, story: str) -> Rendering:
        """Instantiate, and go on as the story wants, where there is such a machine.

        Of a cluster that is modified only what is done from then on is rendered.
        """
        if REGISTRY in self._bare.additional_params:
            registry.instantiate(self._request(), self._services)
            return self.rendering
        instantiate.instantiate(self._request(), self._services, self.vims)
        if self._is_modification:
            self.rendering.commands.clear()
            self.world.age(_DAYS_LEFT)
            upgrade.modify(self._request(), self._services, self._wanted)
        if story == "scale out":
            new = _node("worker", 1)
            self._arrive(new)
            scale_out.scale_out(self._request(new.vnfc_id), self._services, self.vims)
        elif story == "scale masters":
            self._scale_masters()
        elif story:
            self._heal(story.removeprefix("heal "))
        return self.rendering

    def _scale_masters(self) -> None:
        """Behind a virtual IP: from three to five, and back without the first two."""
        first = [m.node for m in self.world.machines.values() if m.role == "master"]
        if len(first) == 1:
            return
        new = [_node("master", index) for index in (3, 4)]
        for node in new:
            self._arrive(node)
        ids = [node.vnfc_id for node in new]
        scale_out.scale_out(self._request(*ids), self._services, self.vims)
        ids = [node.vnfc_id for node in first[:2]]
        scale_in.scale_in(self._request(*ids), self._services, self.vims)
        self.rendering.left = [m for m in self.rendering.machines if m.node in first[:2]]

    def _heal(self, role: str) -> None:
        found = [m.node for m in self.world.machines.values() if m.role == role]
        if not found or (role == "master" and len(found) == 1):
            return
        target = found[0]
        heal.heal_start(self._request(target.vnfc_id), self._services, self.vims)
        del self.world.machines[target.server_id]
        self._arrive(replace(target, server_id="f" + target.server_id[1:]))
        heal.heal_end(self._request(target.vnfc_id), self._services, self.vims)

    def _arrive(self, node: Node) -> None:
        machine = self.world.add(node)
        machine.files["/etc/hosts"] = (HOSTS.encode(), "644")
        self.rendering.machines.append(machine)

    def _request(self, *targets: str) -> LcmRequest:
        nodes = [machine.node for machine in self.world.machines.values()]
        vnfcs = tuple(Vnfc(n.vnfc_id, n.vdu, n.server_id, n.server_id) for n in nodes)
        return replace(self._bare, vnfcs=vnfcs, targets=frozenset(targets))

    def _contents(self, stack_id: str) -> Contents:
        machine = self.world.machines.get(stack_id)
        if machine:
            node = machine.node
            addresses = [Address(cp, ip, stack_id) for cp, ip in node.addresses.items()]
            return Contents(addresses, [stack_id], {}, {stack_id: Placement("compute-1", "nova")})
        shared = [Address(VIP_CP, VIP, ""), Address(FLOATING_IP, PUBLIC, "")]
        return Contents(shared, volumes={name: f"id-of-{name}" for name in self._volumes})

    def _connect(self, endpoint: Endpoint, *rest: Any) -> SimulatedSession:
        machine = self.world.machines[endpoint.server_id]
        rest[0].pin(endpoint.server_id, HostKey(endpoint.server_id))
        return RecordingSession(self.world, machine, self.rendering.commands)


def _node(role: str, index: int) -> Node:
    server = f"{index:012x}-4000-8000-{role}"
    addresses = {_CPS[role]: NODE_ADDRESSES[role][index]}
    return Node(f"{role}-{index}", f"{role}Node", server, addresses)
