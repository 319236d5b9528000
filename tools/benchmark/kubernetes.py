"""Clusters: the driver's instantiate over its critical path, the same commands without waste.

By hand means: each machine goes on as soon as what it needs is there, whatever
the others do, and nothing is looked at before it is done. Each measurement takes
fresh machines.
"""

import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mgmt_drivers.host.host import Host
from mgmt_drivers.inventory import Inventory, Node
from mgmt_drivers.kube import images, kubeadm
from mgmt_drivers.kube.cluster import Cluster, Topology, group_of, topology
from mgmt_drivers.operation import Crew, Operation
from mgmt_drivers.params.kubernetes import (
    ImageRepository,
    KubernetesParams,
    NodeGroup,
    PackageRepository,
)
from mgmt_drivers.params.login import SshLogin
from mgmt_drivers.phases.kubernetes.await_nodes import AwaitNodes
from mgmt_drivers.phases.kubernetes.balance_api import BalanceApi
from mgmt_drivers.phases.kubernetes.connect_pods import ConnectPods
from mgmt_drivers.phases.kubernetes.grant_vim_access import GrantVimAccess
from mgmt_drivers.phases.kubernetes.init_control_plane import InitControlPlane
from mgmt_drivers.phases.kubernetes.install_kubernetes import InstallKubernetes
from mgmt_drivers.phases.kubernetes.share_pod_network import SharePodNetwork
from mgmt_drivers.plans import kubernetes as plans
from mgmt_drivers.secret import Masker, Secret
from mgmt_drivers.ssh.connection import Endpoint, connect
from mgmt_drivers.ssh.hostkeys import HostKeys
from mgmt_drivers.ssh.session import Result, Session
<<<<<<< HEAD
from mgmt_drivers.engine.trace import Trace
=======
from mgmt_drivers.engine.trace import Trace
from tools.client import kubernetes_source as source
from tools.client import stacks
from tools.client.config import CHECKOUT, CONFIG, cloud
from tools.client.packages import registry_image
>>>>>>> b36f286 (Let tools and scenarios share a client of the cloud)

_NODE_IMAGE = "node-debian-12"
_MASTER_CP, _WORKER_CP, _VIP_CP = "masterNode_CP1", "workerNode_CP2", "vip_CP"
_SCRIPT = CHECKOUT / "vnf_packages/kubernetes/Scripts/install_k8s_cluster.sh"
_LIMIT, _GROWTH_LIMIT = 1.25, 0.35


def run(rounds: int) -> None:
    """Print the ratios for 1+2 and 3+2 machines, and what six workers add."""
    with _registry() as registry, tempfile.TemporaryDirectory() as folder:
        bench = Bench(_params(registry), Path(folder))
        for masters in (1, 3):
            pairs = [
                (bench.measure(masters, 2, bench.driver), bench.measure(masters, 2, _by_hand))
                for _ in range(rounds)
            ]
            driver, hand = (statistics.median(column) for column in zip(*pairs, strict=True))
            print(
                f"{masters}+2: driver {driver:.1f} s, critical path {hand:.1f} s, "
                f"ratio {driver / hand:.3f} (limit {_LIMIT})",
                flush=True,
            )
        few, many = (
            statistics.median(bench.measure(1, workers, bench.driver) for _ in range(rounds))
            for workers in (2, 6)
        )
        more = many / few - 1
        print(f"1+2: {few:.1f} s, 1+6: {many:.1f} s, {more:+.1%} (limit {_GROWTH_LIMIT:+.0%})")


@contextmanager
def _registry() -> Iterator[str]:
    """Host and port of a registry with the images of Kubernetes."""
    with stacks.machines(cloud(), ["registry"]) as (machine,):
        with machine.docker() as engine, registry_image().open("rb") as file:
            engine.images.load(file)
        machine.run("sudo docker run --detach --publish 5000:5000 registry:2")
        source.push_images(machine, f"{machine.address}:5000")
        yield f"{machine.address}:5000"


def _params(registry: str) -> KubernetesParams:
    (key,) = source.repository_key().values()
    login = SshLogin(CONFIG.username, Secret(CONFIG.password))
    return KubernetesParams(
        script=_SCRIPT,
        master=NodeGroup(_MASTER_CP, _MASTER_CP, login),
        worker=NodeGroup(_WORKER_CP, _WORKER_CP, login),
        cluster_cp_name=_VIP_CP,
        package_repository=PackageRepository(f"{CONFIG.kubernetes_mirror}/apt/", key),
        version=CONFIG.kubernetes_version,
        image_repository=ImageRepository(registry, plain_http=True),
    )


@dataclass
class Bench:
    """Makes machines, and takes the time of what is done with them."""

    params: KubernetesParams
    folder: Path

    def measure(
        self, masters: int, workers: int, job: Callable[[KubernetesParams, Topology], None]
    ) -> float:
        """Seconds that a job takes on machines that were just made."""
        resources = self._resources(masters, workers)
        connection = cloud()
        with stacks.stack(connection, resources) as stack_id:
            found = self._inventory(connection, stack_id, masters, workers)
            for node in found.nodes:
                stacks.Remote(*node.addresses.values()).await_login()
            cp = _VIP_CP if masters > 1 else _MASTER_CP
            params = KubernetesParams(**{**vars(self.params), "cluster_cp_name": cp})
            start = time.monotonic()
            job(params, topology(params, found))
            took = time.monotonic() - start
        print(f"  {masters}+{workers} {job.__name__.strip('_')}: {took:.1f} s", flush=True)
        return took

    def driver(self, params: KubernetesParams, found: Topology) -> None:
        """The plan, as Tacker's hook would carry it out."""
        connections: list[str] = []

        def log_in(node: Node, limit: float | None) -> Session:
            connections.append(node.vnfc_id)
            return _connect(node, params)

        def context(hosts: Sequence[Host]) -> Cluster:
            return Cluster(params, found, hosts, joining=found.nodes)

        operation = Operation("instantiate", "benchmark", context, log_in, Trace(self.folder))
        operation.carry_out(plans.INSTANTIATE, Crew(required=found.nodes))
        assert len(connections) == len(found.nodes), "one SSH connection per node"

    def _resources(self, masters: int, workers: int) -> dict[str, Any]:
        names = [*(f"master{n}" for n in range(masters)), *(f"worker{n}" for n in range(workers))]
        vip = {"type": "OS::Neutron::Port", "properties": {"network": CONFIG.network}}
        resources: dict[str, Any] = {"vip_port": vip}
        for name in names:
            resources |= stacks.server(name, _NODE_IMAGE)
        return resources

    def _inventory(self, connection: Any, stack_id: str, masters: int, workers: int) -> Inventory:
        def node(name: str, vdu: str, cp: str) -> Node:
            port = stacks.attributes(connection, stack_id, f"{name}_port")
            address = port["fixed_ips"][0]["ip_address"]
            return Node(name, vdu, port["device_id"], {cp: address})

        nodes = [node(f"master{n}", "masterNode", _MASTER_CP) for n in range(masters)]
        nodes += [node(f"worker{n}", "workerNode", _WORKER_CP) for n in range(workers)]
        vip = stacks.address(connection, stack_id, "vip_port")
        return Inventory(tuple(nodes), {_VIP_CP: vip} if masters > 1 else {})


def _connect(node: Node, params: KubernetesParams) -> Session:
    group = group_of(node, params)
    address = node.address(group.ssh_cp_name)
    endpoint = Endpoint(address, group.login.username, group.login.password, node.server_id)
    return connect(endpoint, HostKeys(), Masker(params.secrets()))


@dataclass
class _Unlooking:
    """A session on which nothing is found as it should be, without asking the machine."""

    session: Session

    def run(self, argv: Sequence[str], **options: Any) -> Result:
        if any(word.startswith("sha256sum") for word in argv) or argv[0] == "dpkg-query":
            return Result(1)
        return self.session.run(argv, **options)

    def close(self) -> None:
        self.session.close()


@dataclass
class _Hands:
    """Somebody at each machine, who waits for nothing but what is needed."""

    cluster: Cluster
    invited: threading.Event = field(default_factory=threading.Event)
    joined: threading.Barrier = field(init=False)

    def __post_init__(self) -> None:
        self.joined = threading.Barrier(len(self.cluster.hosts))

    def work(self, host: Host) -> None:
        try:
            self._work(host)
        except BaseException:
            self.joined.abort()  # nobody is to wait for one who gave up
            self.invited.set()
            raise

    def _work(self, host: Host) -> None:
        cluster = self.cluster
        InstallKubernetes().apply(host, cluster)
        repository = cluster.params.image_repository
        assert repository
        cluster.runtime.trust(host, cluster.params.registries)
        for image in images.of_machine(host, cluster):
            if not images.may_be_absent(image):
                cluster.runtime.pull(host, image)
        if cluster.topology.virtual and cluster.is_master(host.node):
            BalanceApi().apply(host, cluster)
        self._become_member(host)
        self.joined.wait()
        if host is cluster.lead:
            SharePodNetwork().apply(host, cluster)
        self.joined.wait()
        ConnectPods().apply(host, cluster)
        self.joined.wait()
        if host is cluster.lead:
            AwaitNodes().apply(host, cluster)
            GrantVimAccess().apply(host, cluster)

    def _become_member(self, host: Host) -> None:
        cluster = self.cluster
        if host is cluster.lead:
            InitControlPlane().apply(host, cluster)
            cluster.invitation = kubeadm.invite(host, cluster)
            self.invited.set()
            return
        self.invited.wait()
        assert cluster.invitation
        if cluster.is_master(host.node):
            with cluster.control_plane:
                kubeadm.join(host, cluster, cluster.invitation)
        else:
            kubeadm.join(host, cluster, cluster.invitation)


def _by_hand(params: KubernetesParams, found: Topology) -> None:
    hosts = [Host(node, _Unlooking(_connect(node, params))) for node in found.nodes]
    hands = _Hands(Cluster(params, found, hosts, joining=found.nodes))
    try:
        with ThreadPoolExecutor(max_workers=len(hosts)) as pool:
            for _ in pool.map(hands.work, hosts):
                pass
    finally:
        for host in hosts:
            host.session.close()
