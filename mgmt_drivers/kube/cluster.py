"""What an operation knows of a cluster; the context of the Kubernetes phases."""

import dataclasses
import ipaddress
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mgmt_drivers.errors import InventoryError, MgmtDriverError, ParameterError
from mgmt_drivers.host.host import Host
from mgmt_drivers.inventory import Inventory, Node
from mgmt_drivers.kube.runtime import ContainerRuntime, runtime_of
from mgmt_drivers.params.kubernetes import NAME, KubernetesParams, NodeGroup
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.secret import Secret

API_PORT = 6443  # of each master's apiserver
BALANCED_PORT = 16443  # of the load balancer in front of them
_FEWEST_BALANCED_MASTERS = 3  # fewer have no quorum without one of them


@dataclass(frozen=True)
class StorageServer:
    """Its machine, and the ids of its Cinder volumes by their names in the BaseHOT.

    An id is empty where Heat could not make the volume.
    """

    node: Node
    volumes: Mapping[str, str]


@dataclass(frozen=True)
class Topology:
    """The machines' roles and the address of the cluster.

    ``virtual`` tells that ``address`` is a virtual IP with a load balancer
    behind it; ``public`` is the address by which Tacker reaches it. ``spread`` tells that
    workers are kept on different compute hosts.
    """

    masters: tuple[Node, ...]
    workers: tuple[Node, ...]
    address: str
    public: str
    virtual: bool
    storage: StorageServer | None = None
    spread: bool = False

    @property
    def port(self) -> int:
        return BALANCED_PORT if self.virtual else API_PORT

    @property
    def nodes(self) -> tuple[Node, ...]:
        return self.masters + self.workers

    @property
    def machines(self) -> tuple[Node, ...]:
        """The nodes, and the storage server if there is one."""
        return (*self.nodes, self.storage.node) if self.storage else self.nodes


_WORKER_NAME = re.compile(r"worker-[0-9a-f]{12}")


def is_worker(name: str) -> bool:
    """Whether a node's name is one that :meth:`Cluster.name` gives to a worker."""
    return bool(_WORKER_NAME.fullmatch(name))


def group_of(node: Node, params: KubernetesParams) -> NodeGroup:
    """Master or worker: the group of which the machine has the CP.

    :raises InventoryError: when that is not exactly one
    """
    groups = [g for g in (params.master, params.worker) if g.nic_cp_name in node.addresses]
    if len(groups) != 1:
        names = f"{params.master.nic_cp_name} (master), {params.worker.nic_cp_name} (worker)"
        raise InventoryError(f"{node} must have exactly one of the CPs {names}")
    return groups[0]


def topology(
    params: KubernetesParams, inventory: Inventory, spread: bool = False
) -> Topology:
    """Sort the machines by their roles and find the cluster's address.

    :raises InventoryError: when they cannot make a cluster
    """
    storage = _storage_server(params, inventory)
    nodes = [n for n in inventory.nodes if storage is None or n != storage.node]
    masters = tuple(n for n in nodes if group_of(n, params) is params.master)
    if not masters:
        raise InventoryError(f"no machine has the CP {params.master.nic_cp_name} of a master")
    virtual = params.cluster_cp_name in inventory.shared
    if virtual and len(masters) < _FEWEST_BALANCED_MASTERS:
        raise InventoryError(
            f"{len(masters)} masters behind a virtual IP: there must be at least "
            f"{_FEWEST_BALANCED_MASTERS}"
        )
    if not virtual and len(masters) > 1:
        raise InventoryError(
            f"{len(masters)} masters need a virtual IP: cluster_cp_name has to name a port that "
            f"belongs to no machine, and {params.cluster_cp_name} does"
        )
    known = {**masters[0].addresses, **inventory.shared}

    def address(cp: str) -> str:
        if cp not in known:
            raise InventoryError(f"Heat shows no address of {cp}")
        return known[cp]

    cluster_address = address(params.cluster_cp_name)
    fip = params.cluster_fip_name
    return Topology(
        masters=masters,
        workers=tuple(n for n in nodes if n not in masters),
        address=cluster_address,
        public=address(fip) if fip else cluster_address,
        virtual=virtual,
        storage=storage,
        spread=spread,
    )


def check_networks(params: KubernetesParams, found: Topology) -> None:
    """Machines must lie outside the cluster's own networks, or they lose their ways.

    :raises ParameterError: with every address that does not
    """
    cps = {node: group_of(node, params).nic_cp_name for node in found.nodes}
    addresses = sorted({found.address, *(node.address(cp) for node, cp in cps.items())})
    faults = [
        f"{NAME}.master_node.{key}: {address} of the VNF's machines lies in {network}; choose "
        "another network"
        for key, network in (("pod_cidr", params.pod_cidr), ("cluster_cidr", params.service_cidr))
        for address in addresses
        if ipaddress.IPv4Address(address) in network
    ]
    if faults:
        raise ParameterError(faults)


def _storage_server(params: KubernetesParams, inventory: Inventory) -> StorageServer | None:
    if params.storage is None:
        return None
    cp = params.storage.ssh_cp_name
    found = [node for node in inventory.nodes if cp in node.addresses]
    if len(found) != 1:
        raise InventoryError(f"{len(found)} machines have the CP {cp} of the storage server")
    names = [volume.resource for volume in params.storage.volumes]
    return StorageServer(found[0], {name: inventory.volumes.get(name, "") for name in names})


@dataclass(frozen=True)
class VimAccount:
    """What Tacker needs to use the cluster: a bearer token, and its CA (PEM)."""

    url: str
    token: Secret
    ca: str


@dataclass(frozen=True)
class Invitation:
    """What a machine needs to join: a short-lived token, and hashes of the CA to trust.

    ``certificate_key`` lets masters fetch the control plane's certificates.
    """

    token: Secret
    certificate_key: Secret
    ca_hashes: tuple[str, ...]


@dataclass(frozen=True)
class PodNetworkFacts:
    """Each node's share of the pods' network, by name, and how nodes learn of the others."""

    shares: Mapping[str, str]
    token: Secret
    ca: str


@dataclass(frozen=True)
class Marks:
    """What a node was marked with, beyond what every node has: labels and taints.

    Taints are as the API shows them: ``key``, ``effect``, perhaps ``value``. ``node`` is the
    name of the node that had them.
    """

    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, str]]
    node: str = ""


class NotAMember(MgmtDriverError):
    """A machine does not belong to the cluster."""


@dataclass
class Cluster:
    """The cluster while an operation works on it; phases leave here what later ones need.

    ``joining`` are the machines that are to become nodes, ``leaving`` those
    that are to be nodes no more; ``hosts`` are the machines the operation has
    logged in to. ``storage`` is the storage server when it comes or goes.
    ``members`` names the masters on which kubeadm has ended well.
    ``marks`` are those of nodes that were lost, by VNFC.

    ``lock`` is held to give the first invitation, ``control_plane`` while a
    master joins: etcd takes one new member at a time, and none after one that
    ``failed_master`` names.
    """

    params: KubernetesParams
    topology: Topology
    hosts: Sequence[Host]
    joining: Sequence[Node] = ()
    leaving: Sequence[Node] = ()
    storage: StorageServer | None = None
    marks: dict[str, Marks] = field(default_factory=dict)
    members: set[str] = field(default_factory=set)
    invitation: Invitation | None = None
    failed_master: str = ""
    pod_network: PodNetworkFacts | None = None
    account: VimAccount | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    control_plane: threading.Lock = field(default_factory=threading.Lock)

    @property
    def runtime(self) -> ContainerRuntime:
        return runtime_of(self.params)

    @property
    def proxy(self) -> Proxy | None:
        """The proxy, with all that is inside the cluster going direct."""
        proxy = self.params.proxy
        if proxy is None:
            return None
        inside = ["127.0.0.1", "localhost", ".svc", ".cluster.local", self.topology.address]
        inside += [str(self.params.pod_cidr), str(self.params.service_cidr)]
        inside += [self.address(node) for node in self.topology.nodes]
        listed = tuple(dict.fromkeys([*proxy.no_proxy, *inside]))
        return dataclasses.replace(proxy, no_proxy=listed)

    @property
    def endpoint(self) -> str:
        """Where the cluster's API is reached from inside: address and port."""
        return f"{self.topology.address}:{self.topology.port}"

    @property
    def masters(self) -> list[Node]:
        """The masters that are to stay."""
        return [node for node in self.topology.masters if node not in self.leaving]

    @property
    def lead(self) -> Host:
        """The master on which the cluster is asked and changed: a member, if there is one.

        One that is to join again is no longer a member, whatever its disk says.
        """
        masters = [host for host in self.hosts if host.node in self.masters]

        def rank(host: Host) -> tuple[bool, bool]:
            return self.name(host.node) not in self.members, host.node in self.joining

        return min(masters, key=rank)

    @property
    def changes_masters(self) -> bool:
        """Whether any of the machines that come or go is a master."""
        return any(self.is_master(node) for node in (*self.joining, *self.leaving))

    def is_master(self, node: Node) -> bool:
        return node in self.topology.masters

    def address(self, node: Node) -> str:
        """The machine's address in the cluster."""
        return node.address(group_of(node, self.params).nic_cp_name)

    def name(self, node: Node) -> str:
        """The machine's node name: of its server's id, so that no two are ever alike."""
        role = "master" if self.is_master(node) else "worker"
        return f"{role}-{node.server_id.replace('-', '')[:12]}"
