"""The machines of a cluster by their roles, and its address; known before any machine is asked."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from mgmt_drivers.cluster.cluster_params import NAME, KubernetesParams, NodeGroup
from mgmt_drivers.cluster.storage.storage_params import Storage
from mgmt_drivers.errors import InventoryError, ParameterError, Refused
from mgmt_drivers.inventory import Inventory, Node
from mgmt_drivers.ssh.connection import Endpoint

API_PORT = 6443  # of each control-plane node's apiserver
BALANCED_PORT = 16443  # of the load balancer in front of them
_FEWEST_BALANCED = 3  # control-plane nodes; fewer have no quorum without one of them
# As Topology.name gives it: other nodes may have been joined by hand.
NODE_NAME = re.compile(r"(?:master|worker)-[0-9a-f]{12}")


def node_name(role: str, node: Node) -> str:
    """The node name of a machine: of its server's id, so that no two are ever alike."""
    return f"{role}-{node.short_id}"


def describe_shared_hosts(control_plane: Iterable[Node]) -> str:
    """Name the control-plane nodes that share a compute host; empty if none do, as far as known.

    With two of three nodes the host takes the quorum of etcd.
    """
    hosts: dict[str, list[Node]] = {}
    for node in control_plane:
        if node.placement and node.placement.host_id:
            hosts.setdefault(node.placement.host_id, []).append(node)
    shared = [nodes for nodes in hosts.values() if len(nodes) > 1]
    if not shared:
        return ""
    names = "; ".join(", ".join(node_name("master", node) for node in nodes) for nodes in shared)
    return (
        f"control-plane nodes share a compute host: {names}. A failure of the host takes all of "
        "them. When another host has room, heal one of them"
    )


@dataclass(frozen=True)
class StorageServer:
    """The storage server's machine and parameters, and the ids of its volumes by BaseHOT name.

    An id is empty if Heat could not create the volume.
    """

    node: Node
    params: Storage
    volumes: Mapping[str, str]


@dataclass(frozen=True)
class Topology:
    """The machines' roles and the address of the cluster.

    ``is_ha`` tells that ``address`` is a virtual IP with a load balancer behind it;
    ``public`` is the address by which Tacker reaches it. ``spread`` are the workers in a server
    group, which keeps them on different compute hosts.
    """

    params: KubernetesParams
    control_plane: tuple[Node, ...]
    workers: tuple[Node, ...]
    address: str
    public: str
    is_ha: bool
    storage: StorageServer | None = None
    spread: tuple[Node, ...] = ()
    formers: tuple[KubernetesParams, ...] = ()  # with other logins that machines may have

    @property
    def port(self) -> int:
        return BALANCED_PORT if self.is_ha else API_PORT

    @property
    def nodes(self) -> tuple[Node, ...]:
        return self.control_plane + self.workers

    @property
    def machines(self) -> tuple[Node, ...]:
        return (*self.nodes, self.storage.node) if self.storage else self.nodes

    @property
    def storage_server(self) -> StorageServer:
        """The storage server, for phases that run only if there is one."""
        assert self.storage
        return self.storage

    @property
    def backup_server(self) -> StorageServer | None:
        """The storage server, if it keeps the backups of etcd."""
        backup = self.params.backup
        return self.storage if backup and backup.is_on_storage_server else None

    def is_control_plane(self, node: Node) -> bool:
        return node in self.control_plane

    def name(self, node: Node) -> str:
        return node_name("master" if self.is_control_plane(node) else "worker", node)

    def address_of(self, node: Node) -> str:
        return node.address(group_of(node, self.params).nic_cp_name)

    def endpoint(self, node: Node) -> Endpoint:
        """Address and login of a machine, and other logins that it may have."""
        endpoint = self._endpoint(node, self.params)
        found = dict.fromkeys(self._endpoint(node, params) for params in self.formers)
        formers = [replace(former, is_former=True) for former in found if former != endpoint]
        return replace(endpoint, formers=tuple(formers))

    def _endpoint(self, node: Node, params: KubernetesParams) -> Endpoint:
        is_storage = self.storage and node == self.storage.node
        group = params.storage if params.storage and is_storage else group_of(node, params)
        return Endpoint(
            address=node.address(group.ssh_cp_name),
            username=group.login.username,
            password=group.login.password,
            private_key=group.login.private_key,
            server_id=node.server_id,
            host_keys=group.login.host_keys,
        )


def group_of(node: Node, params: KubernetesParams) -> NodeGroup:
    """Find the group of which the machine has the CP: the masters, or workers that are alike.

    :raises InventoryError: when that is not exactly one
    """
    groups = [g for g in params.groups if g.nic_cp_name in node.addresses]
    if len(groups) != 1:
        names = ", ".join(group.nic_cp_name for group in params.groups)
        raise InventoryError(f"{node} must have exactly one of the CPs {names}")
    return groups[0]


def topology(
    params: KubernetesParams, inventory: Inventory, grouped: Collection[str] = ()
) -> Topology:
    """Sort the machines by their roles and find the cluster's address.

    :param grouped: VDUs whose servers are in a server group
    :raises InventoryError: when they cannot make a cluster
    """
    storage = _storage_server(params, inventory)
    nodes = [n for n in inventory.nodes if storage is None or n != storage.node]
    nodes = [n for n in nodes if n.vdu != params.unmanaged_vdu]
    masters = tuple(n for n in nodes if group_of(n, params) is params.master)
    if not masters:
        raise InventoryError(f"no machine has the CP {params.master.nic_cp_name} of a master")
    is_ha = params.master.cluster_cp_name in inventory.shared
    _check_number(len(masters), is_ha, params.master.cluster_cp_name)
    known = {**masters[0].addresses, **inventory.shared}

    def address(cp: str) -> str:
        if cp not in known:
            raise InventoryError(f"Heat shows no address of {cp}")
        return known[cp]

    cluster_address = address(params.master.cluster_cp_name)
    fip = params.master.cluster_fip_name
    workers = tuple(n for n in nodes if n not in masters)
    return Topology(
        params=params,
        control_plane=masters,
        workers=workers,
        address=cluster_address,
        public=address(fip) if fip else cluster_address,
        is_ha=is_ha,
        storage=storage,
        spread=tuple(worker for worker in workers if worker.vdu in grouped),
    )


def _check_number(masters: int, is_ha: bool, cluster_cp: str) -> None:
    if is_ha and masters < _FEWEST_BALANCED:
        raise InventoryError(
            f"{masters} masters behind a virtual IP: there must be at least {_FEWEST_BALANCED}"
        )
    if not is_ha and masters > 1:
        raise InventoryError(
            f"{masters} masters need a virtual IP: cluster_cp_name has to name a port that "
            f"belongs to no machine, and {cluster_cp} does"
        )


def check_scaling(aspect: str, before: int, after: int) -> None:
    """Refuse an even number of control-plane nodes, or a number that is too small.

    etcd is no safer with an even number of members (its FAQ, "Why an odd number of cluster
    members?").
    """
    refused = f"scaling aspect {aspect} from {before} to {after} control-plane nodes is refused"
    if after < _FEWEST_BALANCED:
        raise Refused(f"{refused}: there must be at least {_FEWEST_BALANCED}")
    if after % 2 == 0:
        raise Refused(
            f"{refused}: the number must be odd, since {after} members of etcd survive the loss of "
            f"{(after - 1) // 2}, and so do {after - 1}. Ask for {after - 1} or {after + 1}"
        )


def check_networks(topology: Topology) -> None:
    """Machines must lie outside the cluster's own networks, or they lose their routes.

    :raises ParameterError: with every address that does not, floating ones among them
    """
    machines = [address for node in topology.machines for address in node.addresses.values()]
    listed = sorted({topology.address, topology.public, *machines})
    named = [(address, "the VNF's machines") for address in listed]
    errors = [f"{NAME}.master_node.{key}: {why}" for key, why in topology.params.swallowed(named)]
    if errors:
        raise ParameterError(errors)


def _storage_server(params: KubernetesParams, inventory: Inventory) -> StorageServer | None:
    storage = params.storage
    if storage is None:
        return None
    cp = storage.ssh_cp_name
    found = [node for node in inventory.nodes if cp in node.addresses]
    if len(found) != 1:
        raise InventoryError(f"{len(found)} machines have the CP {cp} of the storage server")
    names = [volume.resource for volume in storage.volumes]
    ids = {name: inventory.volumes.get(name, "") for name in names}
    return StorageServer(found[0], storage, ids)
