"""Tests on a simulated cluster: three masters behind a virtual IP, two workers, storage."""

import dataclasses
import gzip
import io
import json
import logging
import shutil
import tarfile
import tempfile
import unittest
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from mgmt_drivers.clock import Clock
from mgmt_drivers.cluster.access.service_account import VIM_ACCOUNT, Credentials
from mgmt_drivers.cluster.backup import backup_keys
from mgmt_drivers.cluster.cluster_params import CLUSTER_ADMIN, DEFAULT_CNI_MANIFEST
from mgmt_drivers.cluster.packages.script_params import DECLARATION
from mgmt_drivers.cluster.registries.registries import KUBELET_LOGINS
from mgmt_drivers.cluster.storage import volumes
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import ConnectionFailed
from mgmt_drivers.inventory import Address, Contents, Node
from mgmt_drivers.operations import heal, instantiate
from mgmt_drivers.request import INSTANTIATE, LcmRequest, Vnfc
from mgmt_drivers.ssh.connection import Endpoint
from mgmt_drivers.testing import made_certificates
from mgmt_drivers.testing.fake_cluster import FLANNEL, MASTER_CP, STORAGE_CP, VIP_CP, WORKER_CP
from mgmt_drivers.testing.fakes import NODE, FakeClock, FakeStacks, MemoryStore, stack_of
from mgmt_drivers.testing.made_keys import made_pairs
from mgmt_drivers.testing.simulated_backup import HostKey
from mgmt_drivers.testing.simulated_world import (
    CHARTS,
    HELM_CONFIG,
    KEEPALIVED,
    KUBECONFIG,
    Machine,
    World,
)
from mgmt_drivers.testing.simulation import Fault, SimulatedSession
from mgmt_drivers.vim import HelmAccess, Vim

# One is a prefix of another, and they look alike inside of URLs.
MASTERS = ("10.10.0.1", "10.10.0.11", "10.10.0.111")
WORKERS = ("10.10.0.10", "10.10.0.101")
STORAGE = "10.10.0.112"
_VIP = "10.10.0.110"
_CPS = {MASTER_CP: "masterNode", WORKER_CP: "workerNode", STORAGE_CP: "storageNode"}
_VOLUME: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "pv1"},
    "spec": {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteMany"],
        "nfs": {"path": "/volume/nfs"},
    },
}
_HOT = {
    "resources": {
        VIP_CP: {"type": "OS::Neutron::Port"},
        "volume": {"type": "OS::Cinder::Volume"},
    }
}


def _group(cp: str) -> dict[str, str]:
    return {"ssh_cp_name": cp, "nic_cp_name": cp, "username": "ubuntu", "password": "hidden"}


PARAMS: dict[str, Any] = {
    "script_path": "install_k8s_cluster.sh",
    "kubernetes_version": "1.20.2",
    "package_repository": {"url": "http://mirror/apt/", "key_path": "key.asc"},
    "master_node": {**_group(MASTER_CP), "cluster_cp_name": VIP_CP},
    "worker_node": _group(WORKER_CP),
    "private_registry_connection_info": [
        {"connection_type": "0", "server": "10.10.0.2:5000"},
        {
            "connection_type": "1", "server": "registry.example.com",
            "username": "me", "password": "Pl4nted",
        },
    ],
    "storage_server": {
        "ssh_cp_name": STORAGE_CP, "username": "ubuntu", "password": "hidden",
        "cinder_volume_setup_params": [{"volume_resource_id": "volume", "mount_to": "/volume"}],
        "nfs_server_setup_params": [{"export_dir": "/volume/nfs", "export_to": "10.10.0.0/24"}],
    },
    "pv_registration_params": [{"pv_manifest_file_path": "pv.yaml", "nfs_server_cp": STORAGE_CP}],
    "helm": {"archive_path": "helm.tar.gz"},
}


NOT_NEW = "test"  # an operation for which checks of new clusters are left out


def new_node(role: str, number: int, address: str) -> Node:
    cp = {"master": MASTER_CP, "worker": WORKER_CP, "storage": STORAGE_CP}[role]
    server = f"{number:012x}-4000-8000-{role}"
    return Node(f"{role}-{address}", f"{role}Node", server, {cp: address})


def no_fault(session: SimulatedSession, argv: Sequence[str]) -> None:
    """Nothing happens."""


def helm_archive(*members: str) -> bytes:
    """An archive as Helm's project publishes it, with a program that does nothing."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("linux-amd64/LICENSE", *(members or ("linux-amd64/helm",))):
            entry = tarfile.TarInfo(name)
            entry.size = len(name)
            archive.addfile(entry, io.BytesIO(name.encode()))
    return gzip.compress(buffer.getvalue(), mtime=0)


class Vims:
    """The VIMs of Tacker, by name."""

    log_in_for_helm = True

    def __init__(self) -> None:
        self.registered: dict[str, Vim] = {}
        self.moved: list[HelmAccess] = []

    def is_taken(self, name: str) -> bool:
        return False

    def register(self, vim: Vim) -> None:
        self.registered = {vim.name: vim}

    def move_helm(self, access: HelmAccess) -> None:
        self.moved.append(access)

    def renew(self, credentials: Credentials) -> None:
        self.registered = {
            name: dataclasses.replace(vim, credentials=credentials)
            for name, vim in self.registered.items()
        }

    def unregister(self) -> None:
        self.registered = {}


class SimulatedCloud:
    """Machines, Heat, Tacker's store and VIMs; ``build`` makes the cluster.

    ``operation`` is the name of what :meth:`instantiate` does: with ``NOT_NEW``, the request may
    have what earlier drivers took, such as backups on a volume that clients mount.

    :param folder: where the VNF package is written
    """

    operation = INSTANTIATE

    def __init__(self, folder: Path) -> None:
        self.package = folder
        (self.package / "BaseHOT/complex").mkdir(parents=True)
        (self.package / "BaseHOT/complex/top.yaml").write_text(yaml.safe_dump(_HOT))
        (self.package / "pv.yaml").write_text(yaml.safe_dump(_VOLUME))
        for name in ("install_k8s_cluster.sh", "key.asc"):
            (self.package / name).write_text(f"{DECLARATION}\n{name}: KUBERNETES_PACKAGES")
        (self.package / "helm.tar.gz").write_bytes(helm_archive())
        (self.package / DEFAULT_CNI_MANIFEST).parent.mkdir(parents=True)
        shutil.copy(FLANNEL, self.package / DEFAULT_CNI_MANIFEST)
        self.params = PARAMS
        self.connections: Counter[str] = Counter()

    def build(self, is_clustered: bool = True) -> None:
        """Machines; with all being well, a cluster of them."""
        self.world = World()
        if is_clustered:
            self.world.accounts = {VIM_ACCOUNT}
            self.world.bindings = {VIM_ACCOUNT: CLUSTER_ADMIN}  # by earlier drivers
        for number, address in enumerate(MASTERS):
            self.arrive(new_node("master", number, address), is_member=is_clustered)
        for number, address in enumerate(WORKERS):
            self.arrive(new_node("worker", number, address), is_member=is_clustered)
        self.arrive(new_node("storage", 0, STORAGE), is_member=is_clustered)
        self.store = MemoryStore()
        self.pairs = made_pairs()  # the first ones again: to make new ones takes long
        self.vims = Vims()
        self.deaf: set[str] = set()  # addresses where no SSH answers
        self.strangers: set[str] = set()  # ids of servers that are not the VNF's (any more)
        self.volume_id = "id-of-the-volume"
        self.connections.clear()

    def arrive(self, node: Node, is_member: bool = False) -> Machine:
        machine = self.world.add(node)
        machine.came = not is_member
        if is_member and machine.role == "storage":
            self.world.formatted = 1
            machine.files["mounted /volume"] = (b"", "")
            self.world.volumes = {"pv1": dict(volumes.at(_VOLUME, STORAGE))}
        elif is_member:
            machine.files[machine.marker] = (b"", "644")
            machine.packages |= {"haproxy", "keepalived"}
            machine.services |= {"haproxy", "keepalived"}
            machine.files[KEEPALIVED] = (b"", "644")
            if machine.role == "master":
                machine.files[CHARTS] = (b"charts", "755")
            self.world.join(machine)
        return machine

    def contents(self, stack_id: str) -> Contents:
        """The contents of a stack in Heat: the VNF's own stack, or the stack of one machine."""
        if stack_id in self.world.machines:
            return stack_of(self.world.machines[stack_id].node)
        if stack_id == "vnf":
            return Contents([Address(VIP_CP, _VIP, "")], volumes={"volume": self.volume_id})
        return Contents((), exists=False)

    def request(self, *targets: str) -> LcmRequest:
        vnfcs = [
            Vnfc(m.node.vnfc_id, m.node.vdu, m.node.server_id, m.node.server_id)
            for m in self.world.machines.values()
            if m.node.server_id not in self.strangers
        ]
        return LcmRequest(
            operation=NOT_NEW,
            vnf_instance_id="vnf-1",
            package=self.package,
            flavour="complex",
            cps=_CPS,
            additional_params={"k8s_cluster_installation_param": self.params},
            stack_id="vnf",
            vnfcs=tuple(vnfcs),
            targets=frozenset(targets),
        )

    def services(
        self,
        before: Fault = no_fault,
        after: Fault = no_fault,
        clock: Clock | None = None,
        trace_folder: Path | None = None,
    ) -> Services:
        def connect(endpoint: Endpoint, *rest: Any) -> SimulatedSession:
            machine = self.world.machines[endpoint.server_id]
            if not machine.alive or endpoint.address in self.deaf:
                raise ConnectionFailed(f"{endpoint.address}: no answer")
            takes_new = machine.takes(endpoint)
            if not takes_new and not any(map(machine.takes, endpoint.formers)):
                raise ConnectionFailed(f"{endpoint.address} refuses the login")
            self.connections[endpoint.address] += 1
            rest[0].pin(endpoint.server_id, HostKey(endpoint.server_id))
            session = SimulatedSession(self.world, machine, before, after)
            session.has_former_login = not takes_new
            return session

        stacks = FakeStacks(self.contents)
        return Services(stacks, self.store, trace_folder, 1.0, connect, clock or FakeClock())

    def heal_start(self, request: LcmRequest, services: Services) -> None:
        heal.heal_start(request, services, self.vims)

    def heal_end(self, request: LcmRequest, services: Services) -> None:
        heal.heal_end(request, services, self.vims)

    def instantiate(self, services: Services) -> None:
        request = dataclasses.replace(self.request(), operation=self.operation)
        instantiate.instantiate(request, services, self.vims)

    def metadata(self) -> dict[str, Any]:
        """The saved metadata of nodes that were lost, by VNFC."""
        kept = self.world.objects.get("configmap/tacker-mgmt-drivers-lost-nodes")
        saved: dict[str, Any] = json.loads(kept["data"]["nodes"]) if kept else {}
        return saved

    def machine(self, address: str) -> Machine:
        return next(m for m in self.world.machines.values() if m.address == address)

    def ids(self, *addresses: str) -> list[str]:
        """The VNFC ids of the machines at these addresses."""
        return [self.machine(address).node.vnfc_id for address in addresses]

    def replaced(self, target: Node) -> Node:
        """Replace a machine as Heat does: by another server for the same VNFC."""
        del self.world.machines[target.server_id]
        new = dataclasses.replace(target, server_id="f" + target.server_id[1:])
        self.arrive(new)
        return new

    def replace_all(self) -> None:
        """Put other servers in the place of all machines, as Heat does; the volume is kept."""
        for machine in list(self.world.machines.values()):
            self.replaced(machine.node)
        # The old cluster's data were on its disks.
        self.world.nodes, self.world.members = {}, []
        self.world.volumes, self.world.accounts, self.world.claims = {}, set(), []
        self.world.objects, self.world.bindings = {}, {}
        self.world.claimed, self.world.encrypting = False, set()


class SimulatedRegistry(SimulatedCloud):
    """The VNF of the private registry: one machine. ``registry`` are parameters of its request."""

    registry: dict[str, Any]

    def have_bundles(self, *names: str) -> list[dict[str, str]]:
        """Put a certificate and bundles into the package; returns the bundles' parameters."""
        key, certificate = made_certificates.fixed()
        files = {name: name.encode() for name in names}
        for name, content in {"tls.key": key, "tls.crt": certificate, **files}.items():
            (self.package / name).write_bytes(content)
        self.registry = {"tls_certificate_path": "tls.crt", "tls_key_path": "tls.key"}
        return [{"path": name} for name in names]

    def build(self, is_clustered: bool = True) -> None:
        super().build(is_clustered=False)
        self.registry = {}
        self.world.machines.clear()
        self._node = dataclasses.replace(NODE, addresses={MASTER_CP: "192.0.2.10"})
        self.world.add(self._node)

    def contents(self, stack_id: str) -> Contents:
        return stack_of(self._node)

    def request(self, *targets: str) -> LcmRequest:
        node = self._node
        params = {"ssh_cp_name": MASTER_CP, "ssh_username": "ubuntu", "ssh_password": "hidden"}
        params |= self.registry
        return LcmRequest(
            operation=NOT_NEW,
            vnf_instance_id="vnf-1",
            package=self.package,
            cps={MASTER_CP: node.vdu},
            additional_params={"private_registry_installation_param": params},
            stack_id="vnf",
            vnfcs=(Vnfc(node.vnfc_id, node.vdu, node.server_id, "vnf"),),
        )


class SimulatedClusterTest(SimulatedCloud, unittest.TestCase):
    """Tests on a simulated cluster; time is simulated too."""

    def __init__(self, method: str) -> None:
        unittest.TestCase.__init__(self, method)

    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        SimulatedCloud.__init__(self, Path(folder.name))
        pairs = mock.patch.object(backup_keys, "generate", lambda: next(self.pairs))
        pairs.start()
        self.addCleanup(pairs.stop)

    def assert_balanced(self) -> None:
        """HAProxy and keepalived of each master know all masters, and nobody else."""
        masters = [m for m in self.world.machines.values() if m.role == "master"]
        for machine in masters:
            self.assertEqual(sorted(m.name for m in masters), sorted(machine.backends))
            others = sorted(m.address for m in masters if m is not machine)
            self.assertEqual(others, sorted(machine.peers))
            self.assertLessEqual({"haproxy", "keepalived"}, machine.services)
            self.assertEqual(set(), machine.left_out)

    def assert_whole(self, masters: int, workers: int) -> None:
        everyone = self.world.machines.values()
        machines = [machine for machine in everyone if machine.role != "storage"]
        self.assertEqual({m.name for m in machines}, set(self.world.nodes))
        names = sorted(m.name for m in machines if m.role == "master")
        self.assertEqual(masters, len(names))
        self.assertEqual(workers, len(machines) - masters)
        self.assertEqual(names, sorted(m["name"] for m in self.world.members))
        self.assertTrue(all(m.markers == [m.marker] for m in machines))
        logins = [m.files.get(KUBELET_LOGINS) for m in machines if m.came]
        self.assertTrue(all(login and login[1] == "600" for login in logins), logins)
        masters_that_came = [m for m in machines if m.role == "master" and m.came]
        wanted = HELM_CONFIG if self.params.get("helm") is not None else KUBECONFIG
        self.assertEqual([], [m.name for m in masters_that_came if wanted not in m.files])
        closed = [n for n, node in self.world.nodes.items() if node["spec"].get("unschedulable")]
        self.assertEqual([], closed)
