"""A cluster of fake machines for tests: parameters, topology and hosts with scripted sessions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.cluster_params import (
    DEFAULT_CNI_MANIFEST,
    ControlPlaneGroup,
    KubernetesParams,
    WorkerGroup,
)
from mgmt_drivers.cluster.packages.repository_params import PackageRepository
from mgmt_drivers.cluster.series import read_version
from mgmt_drivers.cluster.topology import topology
from mgmt_drivers.inventory import Inventory, Node
from mgmt_drivers.machine.host import Host
from mgmt_drivers.params.login import SshLogin
from mgmt_drivers.secret import Secret
from mgmt_drivers.testing.fakes import FakeClock, FakeSession, MemoryStore

MASTER_CP, WORKER_CP, VIP_CP = "masterNode_CP1", "workerNode_CP2", "vip_CP"
STORAGE_CP, POOL_CP = "storage_server_CP", "workerNode2_CP3"
VIP = "192.0.2.100"
_OF_MASTERS = ("cluster_cp_name", "cluster_fip_name", "pod_cidr", "service_cidr")
FLANNEL = Path(__file__).parents[2] / "vnf_packages" / "kubernetes" / DEFAULT_CNI_MANIFEST


def node(role: str, number: int) -> Node:
    cp, base = (MASTER_CP, 10) if role == "master" else (WORKER_CP, 20)
    server = f"{number:08d}-{base:04d}-4000-8000-000000000000"
    vnfc = f"vnfc-{role}-{number}"
    return Node(vnfc, f"{role}Node", server, {cp: f"192.0.2.{base + number}"})


def params(version: str = "1.20.2", **changes: Any) -> KubernetesParams:
    login = SshLogin("ubuntu", Secret("hidden"))
    master: dict[str, Any] = {"cluster_cp_name": MASTER_CP}
    master |= {key: changes.pop(key) for key in _OF_MASTERS if key in changes}
    values: dict[str, Any] = {
        "script": Path(__file__),
        "master": ControlPlaneGroup(MASTER_CP, MASTER_CP, login, **master),
        "worker": WorkerGroup(WORKER_CP, WORKER_CP, login),
        "package_repository": PackageRepository("http://mirror/apt/"),
        "cni_manifest": FLANNEL,
        "version": read_version(version),
    }
    return KubernetesParams(**{**values, **changes})


@dataclass(frozen=True)
class FakeCluster(Cluster):
    """A cluster with its hosts, the control plane first; the leader is the first of them."""

    hosts: Sequence[Host] = ()


def cluster(
    masters: int = 1, workers: int = 1, **changes: Any
) -> tuple[FakeCluster, dict[str, FakeSession]]:
    """A cluster of fake machines, and their sessions by node name."""
    if masters > 1:
        changes = {"cluster_cp_name": VIP_CP, **changes}
    return cluster_of(params(**changes), masters, workers)


def cluster_of(
    made_of: KubernetesParams, masters: int, workers: int
) -> tuple[FakeCluster, dict[str, FakeSession]]:
    """Make a cluster like :func:`cluster`, with parameters that were read."""
    nodes = [node("master", n) for n in range(1, masters + 1)]
    nodes += [node("worker", n) for n in range(1, workers + 1)]
    shared = {VIP_CP: VIP} if masters > 1 else {}
    found = topology(made_of, Inventory(tuple(nodes), shared))
    sessions = [FakeSession() for _ in nodes]
    pairs = zip(nodes, sessions, strict=True)
    hosts = [Host(machine, session, FakeClock()) for machine, session in pairs]
    made = FakeCluster(found, MemoryStore(), hosts[0], hosts=hosts)
    return made, {found.name(n): s for n, s in zip(nodes, sessions, strict=True)}
