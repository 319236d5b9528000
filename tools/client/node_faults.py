"""Faults of a cluster's machines, which nobody but the monitoring is told of."""

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from openstack.connection import Connection

from tools.client import hosts, stacks
from tools.client.errors import ClientError
from tools.client.lcm import Vnf
from tools.client.log import log
from tools.client.machines import Remote

MASTER, WORKER = "masterNode", "workerNode"  # VDUs of the VNF packages
_SHORT = 20  # seconds of a network cut that no heal may follow
_RUNTIME_FOLDER = "/var/lib/containerd"
_METRICS = "curl --silent --max-time 5 http://127.0.0.1:2381/metrics"
_LEADS = f"{_METRICS} | grep '^etcd_server_is_leader 1'"
# The machine's own questions to itself are still answered.
_RULES = (
    "iptables -w 10 {0} INPUT ! -i lo -j DROP; iptables -w 10 {0} OUTPUT ! -o lo -j DROP; "
    "iptables -w 10 {0} FORWARD -j DROP"
)
_CUT, _MEND = _RULES.format("-I"), _RULES.format("-D")


@dataclass(frozen=True)
class Machine:
    """A VNFC of a cluster, as the v2 API shows it now."""

    vnfc_id: str
    vdu: str
    server_id: str
    remote: Remote

    def __str__(self) -> str:
        return f"{self.vdu} {self.server_id[:8]} ({self.remote.address})"


@dataclass(frozen=True)
class Site:
    """A cluster of which machines are struck, on its cloud."""

    connection: Connection
    vnf: Vnf

    def machines(self, vdu: str = "") -> list[Machine]:
        """The machines of a VDU, or all machines of the cluster."""
        addresses = stacks.server_addresses(self.connection, self.vnf.id)
        return [
            Machine(vnfc["id"], vnfc["vduId"], server, Remote(addresses[server]))
            for vnfc in self.vnf.vnfcs()
            if vnfc["vduId"] in ((vdu,) if vdu else (MASTER, WORKER))
            for server in [vnfc["computeResource"]["resourceId"]]
        ]

    @property
    def url(self) -> str:
        """The URL of the cluster's API."""
        (vim,) = self.vnf.cluster_vims()
        return vim.auth_url

    def host(self, machine: Machine) -> str:
        """The compute host of a machine, as far as Nova shows it."""
        placement = stacks.placement(self.connection, machine.server_id)
        return placement.host or placement.host_id


Choice = Callable[[Site, random.Random], list[Machine]]


@dataclass(frozen=True)
class Fault:
    """A fault, and the choice of the machines that it strikes.

    ``_struck`` is a context manager, whose end puts back what is not the machines'. ``heals`` tells
    whether a heal must follow; otherwise none may. ``most`` is the largest number of machines.
    """

    name: str
    choose: Choice
    _struck: Callable[[Site, Sequence[Machine]], contextlib.AbstractContextManager[None]]
    heals: bool = True
    most: int = 1

    @contextlib.contextmanager
    def strike(self, site: Site, machines: Sequence[Machine]) -> Iterator[None]:
        """Let the fault strike the machines that were chosen."""
        log(f"{self.name}: {', '.join(map(str, machines))}")
        with self._struck(site, machines):
            yield


def anyone(*vdus: str) -> Choice:
    """Choose one machine of these VDUs."""
    return lambda site, chance: [
        chance.choice([m for m in site.machines() if m.vdu in vdus])
    ]


def etcd_leader(site: Site, chance: random.Random) -> list[Machine]:
    """Choose the machine with the leader of etcd."""
    return [_first(site, lambda remote: bool(remote.run(_LEADS, check=False)), "leads etcd")]


def virtual_ip_holder(site: Site, chance: random.Random) -> list[Machine]:
    """Choose the control-plane node that has the cluster's address."""
    address = site.url.partition("://")[2].rpartition(":")[0]
    return [_first(site, lambda remote: remote.has_address(address), f"holds {address}")]


def _first(site: Site, good: Callable[[Remote], bool], what: str) -> Machine:
    for machine in site.machines(MASTER):
        if good(machine.remote):
            return machine
    raise ClientError(f"no control-plane node {what}")


def on_one_host(site: Site, chance: random.Random) -> list[Machine]:
    """Choose a compute host by its machines: more than two, or two masters, nothing can heal."""
    by_host: dict[str, list[Machine]] = {}
    for machine in site.machines():
        by_host.setdefault(site.host(machine), []).append(machine)
    masters = {h: sum(m.vdu == MASTER for m in found) for h, found in by_host.items()}
    good = [h for h in sorted(by_host) if masters[h] < 2 and len(by_host[h]) <= 2]
    if not good:
        raise ClientError("each compute host has two masters, or more than two machines")
    return by_host[chance.choice(good)]


@contextlib.contextmanager
def power_cut(site: Site, machines: Sequence[Machine]) -> Iterator[None]:
    with ThreadPoolExecutor(len(machines)) as pool:  # in parallel, as a host takes them with it
        list(pool.map(lambda machine: machine.remote.cut_power(), machines))
    yield


@contextlib.contextmanager
def host_lost(site: Site, machines: Sequence[Machine]) -> Iterator[None]:
    """The host's machines have no power, and Nova places no others there; needs an admin's login.

    nova-compute itself goes on: that it deletes the servers is what the fence of a dead host does.
    """
    compute = site.connection.compute
    service = hosts.service(site.connection, site.host(machines[0]))
    compute.disable_service(service)
    try:
        with power_cut(site, machines):
            yield
    finally:
        compute.enable_service(service)


def _commands(command: str) -> Callable[..., contextlib.AbstractContextManager[None]]:
    """Root's shell runs a command a second later, when the login has ended."""

    @contextlib.contextmanager
    def struck(site: Site, machines: Sequence[Machine]) -> Iterator[None]:
        for machine in machines:
            machine.remote.run(
                f"sudo systemd-run --quiet --collect sh -c 'sleep 1; {command}'"
            )
        yield

    return struck


kubelet_stopped = _commands("systemctl stop kubelet")
disk_filled = _commands(
    # A disk of its own: that of the embedded cloud's machines is the disk of the whole cloud.
    f"mount -t tmpfs -o size=1m tmpfs {_RUNTIME_FOLDER} && "
    f"head -c 2M /dev/zero >{_RUNTIME_FOLDER}/full"
)
rebooted = _commands("systemctl reboot")
_one = anyone(MASTER, WORKER)

FAULTS = (
    Fault("kill of a worker", anyone(WORKER), power_cut),
    Fault("kill of a master", anyone(MASTER), power_cut),
    Fault("kill of etcd's leader", etcd_leader, power_cut),
    Fault("kill of the virtual IP's holder", virtual_ip_holder, power_cut),
    Fault("kubelet stopped", _one, kubelet_stopped),
    Fault("disk full", _one, disk_filled),
    Fault("network cut", _one, _commands(_CUT)),
    Fault("compute host down", on_one_host, host_lost, most=2),
)
HARMLESS = (
    Fault("reboot", _one, rebooted, heals=False),
    Fault(
        f"network cut for {_SHORT} s", _one, _commands(f"{_CUT}; sleep {_SHORT}; {_MEND}"),
        heals=False,
    ),
)


def sequence(faults: Sequence[Fault], count: int, seed: int) -> list[Fault]:
    """Draw faults: each comes once before one comes again; a seed gives the same ones."""
    chance, drawn = random.Random(seed), list[Fault]()  # noqa: S311 - nothing secret
    while len(drawn) < count:
        drawn += chance.sample(faults, len(faults))
    return drawn[:count]
