"""Tests on a simulated cluster: three masters behind a virtual IP, and two workers."""

import dataclasses
import ipaddress
import logging
import unittest
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from mgmt_drivers import inventory, kubernetes
from mgmt_drivers.driver import Surroundings
from mgmt_drivers.errors import ConnectionFailed
from mgmt_drivers.inventory import Inventory, Node
from mgmt_drivers.kube import volumes
from mgmt_drivers.kube.registries import KUBELET_LOGINS
from mgmt_drivers.params.login import SshLogin
from mgmt_drivers.params.registries import Login, Registry
from mgmt_drivers.params.storage import Export, Manifest, Storage, Volume
from mgmt_drivers.request import LcmRequest, VimAccess, Vnfc
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh import wait
from mgmt_drivers.ssh.connection import Endpoint
from mgmt_drivers.tests.cluster import MASTER_CP, STORAGE_CP, VIP_CP, WORKER_CP, params
from mgmt_drivers.tests.simulation import MEMBER, Fault, Machine, SimulatedSession, World

# One is a prefix of another, and they look alike inside of URLs.
MASTERS = ("10.10.0.1", "10.10.0.11", "10.10.0.111")
WORKERS = ("10.10.0.10", "10.10.0.101")
STORAGE = "10.10.0.112"
_VIP = "10.10.0.110"
_REGISTRIES = (
    Registry("10.10.0.2:5000", plain_http=True),
    Registry("registry.example.com", login=Login("me", Secret("Pl4nted"))),
)


_STORAGE = Storage(
    STORAGE_CP,
    SshLogin("ubuntu", Secret("hidden")),
    (Volume("volume", "/volume"),),
    (Export("/volume/nfs", ipaddress.IPv4Network("10.10.0.0/24")),),
    (
        Manifest(
            ({"metadata": {"name": "pv1"}, "spec": {"nfs": {"path": "/volume/nfs"}}},), STORAGE_CP
        ),
    ),
)


def new_node(role: str, number: int, address: str) -> Node:
    cp = {"master": MASTER_CP, "worker": WORKER_CP, "storage": STORAGE_CP}[role]
    server = f"{number:012x}-4000-8000-{role}"
    return Node(f"{role}-{address}", f"{role}Node", server, {cp: address})


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def no_fault(session: SimulatedSession, argv: Sequence[str]) -> None:
    """Nothing happens."""


class SimulatedClusterTest(unittest.TestCase):
    """``build`` makes the cluster; Heat and time are simulated too."""

    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        heat = mock.patch.object(inventory, "Heat")
        heat.start()
        self.addCleanup(heat.stop)
        read = mock.patch.object(inventory, "read", self.inventory)
        read.start()
        self.addCleanup(read.stop)
        known = mock.patch.object(
            kubernetes,
            "read_params",
            lambda request: params(
                cluster_cp_name=VIP_CP, private_registries=_REGISTRIES, storage=_STORAGE
            ),
        )
        known.start()
        self.addCleanup(known.stop)
        clock = mock.patch.object(wait, "time", Clock())
        clock.start()
        self.addCleanup(clock.stop)
        self.connections: Counter[str] = Counter()

    def build(self) -> None:
        """A cluster in which all is well."""
        self.world = World()
        for number, address in enumerate(MASTERS):
            self.arrive(new_node("master", number, address), is_member=True)
        for number, address in enumerate(WORKERS):
            self.arrive(new_node("worker", number, address), is_member=True)
        self.arrive(new_node("storage", 0, STORAGE), is_member=True)
        self.marks: dict[str, Any] = {}
        self.deaf: set[str] = set()  # addresses where no SSH answers
        self.volume_id = "id-of-the-volume"
        self.connections.clear()

    def arrive(self, node: Node, is_member: bool = False) -> Machine:
        machine = self.world.add(node)
        machine.came = not is_member
        if is_member and machine.role == "storage":
            self.world.formatted = 1
            (volume,) = _STORAGE.manifests[0].volumes
            self.world.volumes = {"pv1": dict(volumes.at(volume, STORAGE))}
        elif is_member:
            machine.files[MEMBER] = (b"", "644")
            machine.packages |= {"haproxy", "keepalived"}
            machine.services |= {"haproxy", "keepalived"}
            self.world.join(machine)
        return machine

    def inventory(self, request: LcmRequest, stacks: object, placed: bool) -> Inventory:
        nodes = tuple(machine.node for machine in self.world.machines.values())
        return Inventory(nodes, {VIP_CP: _VIP}, {"volume": self.volume_id})

    def request(self, *targets: str) -> LcmRequest:
        access = VimAccess("", "", Secret(""), "")
        vnfcs = [
            Vnfc(m.node.vnfc_id, m.node.vdu, m.node.server_id, "")
            for m in self.world.machines.values()
        ]
        return LcmRequest(
            "test", "vnf-1", Path(), {}, {}, vnfcs=tuple(vnfcs),
            targets=frozenset(targets), vim=access,
        )

    def surroundings(self, before: Fault = no_fault, after: Fault = no_fault) -> Surroundings:
        def connect(endpoint: Endpoint, *rest: Any) -> SimulatedSession:
            machine = self.world.machines[endpoint.server_id]
            if not machine.alive or endpoint.address in self.deaf:
                raise ConnectionFailed(f"{endpoint.address}: no answer")
            self.connections[endpoint.address] += 1
            return SimulatedSession(self.world, machine, before, after)

        return Surroundings(None, lambda keys: None, 1.0, connect)

    def machine(self, address: str) -> Machine:
        return next(m for m in self.world.machines.values() if m.address == address)

    def ids(self, *addresses: str) -> list[str]:
        """The VNFC ids of the machines at these addresses."""
        return [self.machine(address).node.vnfc_id for address in addresses]

    def save_marks(self, marks: kubernetes.SavedMarks) -> None:
        self.marks = dict(marks)

    def assert_whole(self, masters: int, workers: int) -> None:
        everyone = self.world.machines.values()
        machines = [machine for machine in everyone if machine.role != "storage"]
        self.assertEqual({m.name for m in machines}, set(self.world.nodes))
        names = sorted(m.name for m in machines if m.role == "master")
        self.assertEqual(masters, len(names))
        self.assertEqual(workers, len(machines) - masters)
        self.assertEqual(names, sorted(m["name"] for m in self.world.members))
        self.assertTrue(all(MEMBER in m.files for m in machines))
        logins = [m.files.get(KUBELET_LOGINS) for m in machines if m.came]
        self.assertTrue(all(login and login[1] == "600" for login in logins), logins)
        closed = [n for n, node in self.world.nodes.items() if node["spec"].get("unschedulable")]
        self.assertEqual([], closed)

    def replaced(self, target: Node) -> Node:
        """What Heat puts in a machine's place: another server for the same VNFC."""
        del self.world.machines[target.server_id]
        new = dataclasses.replace(target, server_id="f" + target.server_id[1:])
        self.arrive(new)
        return new
