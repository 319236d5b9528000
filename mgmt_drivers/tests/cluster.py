"""A cluster of fake machines for tests: parameters, topology and hosts with scripted sessions."""

from pathlib import Path
from typing import Any

from mgmt_drivers.host.host import Host
from mgmt_drivers.inventory import Inventory, Node
from mgmt_drivers.kube.cluster import Cluster, topology
from mgmt_drivers.params.kubernetes import KubernetesParams, NodeGroup, PackageRepository
from mgmt_drivers.params.login import SshLogin
from mgmt_drivers.secret import Secret
from mgmt_drivers.tests.fakes import FakeSession

MASTER_CP, WORKER_CP, VIP_CP = "masterNode_CP1", "workerNode_CP2", "vip_CP"
STORAGE_CP = "storage_server_CP"
VIP = "192.0.2.100"


def node(role: str, number: int) -> Node:
    cp, base = (MASTER_CP, 10) if role == "master" else (WORKER_CP, 20)
    server = f"{number:08d}-{base:04d}-4000-8000-000000000000"
    vnfc = f"vnfc-{role}-{number}"
    return Node(vnfc, f"{role}Node", server, {cp: f"192.0.2.{base + number}"})


def params(**changes: Any) -> KubernetesParams:
    login = SshLogin("ubuntu", Secret("hidden"))
    values: dict[str, Any] = {
        "script": Path(__file__),
        "master": NodeGroup(MASTER_CP, MASTER_CP, login),
        "worker": NodeGroup(WORKER_CP, WORKER_CP, login),
        "cluster_cp_name": MASTER_CP,
        "package_repository": PackageRepository("http://mirror/apt/"),
        "version": "1.20.2",
    }
    return KubernetesParams(**{**values, **changes})


def cluster(
    masters: int = 1, workers: int = 1, **changes: Any
) -> tuple[Cluster, dict[str, FakeSession]]:
    """A cluster, and the sessions of its hosts by node name."""
    if masters > 1:
        changes = {"cluster_cp_name": VIP_CP, **changes}
    nodes = [node("master", n) for n in range(1, masters + 1)]
    nodes += [node("worker", n) for n in range(1, workers + 1)]
    found = params(**changes)
    shared = {VIP_CP: VIP} if masters > 1 else {}
    sessions = [FakeSession() for _ in nodes]
    hosts = [Host(machine, session) for machine, session in zip(nodes, sessions, strict=True)]
    made = Cluster(found, topology(found, Inventory(tuple(nodes), shared)), hosts, joining=nodes)
    return made, {made.name(h.node): s for h, s in zip(hosts, sessions, strict=True)}
