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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from mgmt_drivers.engine.operation import Operation
from mgmt_drivers.engine.services import Services
from mgmt_drivers.host.host import Host
from mgmt_drivers.inventory import Inventory, Node
from mgmt_drivers.kube import images, kubeadm
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.kubeadm_config import JoinCredentials
from mgmt_drivers.kube.topology import Topology, topology
from mgmt_drivers.params.kubernetes import (
    DEFAULT_CNI_MANIFEST,
    CniManifest,
    ControlPlaneGroup,
    ImageRepository,
    KubernetesParams,
    NodeGroup,
    PackageRepository,
)
from mgmt_drivers.params.login import SshLogin
from mgmt_drivers.params.series import DEFAULT_VERSION, read_version
from mgmt_drivers.phases.control_plane.control_plane import InitializeControlPlane
from mgmt_drivers.phases.control_plane.grant_access import GrantVimAccess
from mgmt_drivers.phases.control_plane.load_balancer import ConfigureLoadBalancer
from mgmt_drivers.phases.nodes.install_packages import InstallPackages
from mgmt_drivers.phases.nodes.pod_network import ApplyCniManifest
from mgmt_drivers.phases.nodes.wait_for_nodes import WaitForNodes
from mgmt_drivers.plans import kubernetes as plans
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.secret import Masker, Secret
from mgmt_drivers.ssh.connection import connect
from mgmt_drivers.ssh.hostkeys import HostKeys
from mgmt_drivers.ssh.session import Result, Session
from mgmt_drivers.tests.fakes import FakeStacks, MemoryStore
from tools.client import kubernetes_source as source
from tools.client import stacks
from tools.client.config import CHECKOUT, CONFIG, cloud
from tools.client.packages import registry_image

T = TypeVar("T")

_NODE_IMAGE = "node-debian-13"
_MASTER_CP, _WORKER_CP, _VIP_CP = "masterNode_CP1", "workerNode_CP2", "vip_CP"
_PACKAGE = CHECKOUT / "vnf_packages/kubernetes"
_SCRIPT = _PACKAGE / "Scripts/install_k8s_cluster.sh"
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
    with stacks.machines(cloud(), ["registry"], [5000]) as (machine,):
        with machine.docker() as engine, registry_image().open("rb") as file:
            engine.images.load(file)
        machine.run("sudo docker run --detach --publish 5000:5000 registry:2")
        source.push_images(f"{machine.address}:5000")
        yield f"{machine.address}:5000"


def _params(registry: str) -> KubernetesParams:
    (key,) = source.repository_key().values()
    login = SshLogin(CONFIG.username, Secret(CONFIG.password))
    return KubernetesParams(
        script=_SCRIPT,
        master=ControlPlaneGroup(_MASTER_CP, _MASTER_CP, login, cluster_cp_name=_VIP_CP),
        worker=NodeGroup(_WORKER_CP, _WORKER_CP, login),
        package_repository=PackageRepository(f"{source.mirror_url()}/apt/", key),
        version=read_version(CONFIG.kubernetes_version) or DEFAULT_VERSION,
        image_repository=ImageRepository(registry, plain_http=True),
        cni_manifest=CniManifest(_PACKAGE / DEFAULT_CNI_MANIFEST, is_default=True),
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
            params = replace(self.params, master=replace(self.params.master, cluster_cp_name=cp))
            start = time.monotonic()
            job(params, topology(params, found))
            took = time.monotonic() - start
        print(f"  {masters}+{workers} {job.__name__.strip('_')}: {took:.1f} s", flush=True)
        return took

    def driver(self, params: KubernetesParams, found: Topology) -> None:
        """The plan of an instantiation; what comes before and after it are two questions."""
        request = LcmRequest("instantiate", "benchmark", Path(), {}, {})
        services = Services(FakeStacks({}), MemoryStore(), self.folder)
        secrets = params.secrets()
        with Operation(request, services, found.machines, found.endpoint, secrets) as operation:
            hosts = operation.connect(found.machines)
            cluster = Cluster(found, services.store, hosts, hosts[0], joining=hosts)
            operation.run(plans.INSTANTIATE, cluster)

    def _resources(self, masters: int, workers: int) -> dict[str, Any]:
        names = [*(f"master{n}" for n in range(masters)), *(f"worker{n}" for n in range(workers))]
        resources: dict[str, Any] = {}
        for name in names:
            resources |= stacks.server(name, _NODE_IMAGE, [6443, 16443], flavor="k8s.master")
            # The virtual IP is not the port's own.
            port = resources[f"{name}_port"]["properties"]
            port["allowed_address_pairs"] = [{"ip_address": "0.0.0.0/0"}]
        vip = {"network": CONFIG.network, "security_groups": [{"get_resource": "access"}]}
        return {**resources, "vip_port": {"type": "OS::Neutron::Port", "properties": vip}}

    def _inventory(self, connection: Any, stack_id: str, masters: int, workers: int) -> Inventory:
        def node(name: str, vdu: str, cp: str) -> Node:
            port = stacks.attributes(connection, stack_id, f"{name}_port")
            address = stacks.address(connection, stack_id, f"{name}_port")
            return Node(name, vdu, port["device_id"], {cp: address})

        nodes = [node(f"master{n}", "masterNode", _MASTER_CP) for n in range(masters)]
        nodes += [node(f"worker{n}", "workerNode", _WORKER_CP) for n in range(workers)]
        vip = stacks.address(connection, stack_id, "vip_port")
        return Inventory(tuple(nodes), {_VIP_CP: vip} if masters > 1 else {})


@dataclass(frozen=True)
class _UnconditionalSession:
    """A session on which nothing is found as it should be, without asking the machine."""

    session: Session

    def run(self, argv: Sequence[str], **options: Any) -> Result:
        if "digest-file" in argv:
            return Result(1)
        return self.session.run(argv, **options)

    def hold(self, argv: Sequence[str], **options: Any) -> Result:
        return self.session.hold(argv, **options)

    def hide(self, *secrets: Secret) -> None:
        self.session.hide(*secrets)

    def close(self) -> None:
        self.session.close()


class _Operators:
    """Somebody at each machine, who waits for nothing but what is needed."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.created = threading.Event()
        self.credentials: list[JoinCredentials] = []
        self.control_plane = threading.Lock()
        self.joined = threading.Barrier(len(cluster.hosts))

    def work(self, host: Host) -> None:
        try:
            self._work(host)
        except BaseException:
            self.joined.abort()  # nobody is to wait for one who gave up
            self.created.set()
            raise

    def _work(self, host: Host) -> None:
        cluster = self.cluster
        InstallPackages().act(host, cluster, "by hand")
        cluster.runtime.trust(host, cluster.params.registries)
        is_control_plane = cluster.is_control_plane(host)
        for image in images.of_role(kubeadm.images(host, cluster), is_control_plane):
            if not images.may_be_absent(image):
                cluster.runtime.pull(host, image)
        balancer = ConfigureLoadBalancer()
        configuration = balancer.look(host, cluster) if is_control_plane else None
        if configuration and cluster.topology.is_balanced:
            balancer.act(host, cluster, configuration)
        self._become_member(host)
        self.joined.wait()
        if host is cluster.leader:
            WaitForNodes().check(host, cluster)
            GrantVimAccess().step(host, cluster)

    def _become_member(self, host: Host) -> None:
        cluster = self.cluster
        if host is cluster.leader:
            InitializeControlPlane().step(host, cluster)
            ApplyCniManifest().step(host, cluster)
            self.credentials.append(
                kubeadm.create_join_credentials(host, cluster, for_control_plane=True)
            )
            self.created.set()
            return
        self.created.wait()
        if cluster.is_control_plane(host):
            with self.control_plane:
                kubeadm.join(host, cluster, self.credentials[0])
        else:
            kubeadm.join(host, cluster, self.credentials[0])


def _by_hand(params: KubernetesParams, found: Topology) -> None:
    keys, masker = HostKeys(), Masker(params.secrets())
    hosts = [
        Host(node, _UnconditionalSession(connect(found.endpoint(node), keys, masker)))
        for node in found.nodes
    ]
    operators = _Operators(Cluster(found, MemoryStore(), hosts, hosts[0], joining=hosts))
    try:
        with ThreadPoolExecutor(max_workers=len(hosts)) as pool:
            for _ in pool.map(operators.work, hosts):
                pass
    finally:
        for host in hosts:
            host.session.close()
