"""The beginning of an operation on a cluster: parameters, machines, lock, leader, members."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from mgmt_drivers import inventory
from mgmt_drivers.cluster import changed_params
from mgmt_drivers.cluster.access.change_login import ChangeLogin, RemoveFormerKey
from mgmt_drivers.cluster.changed_params import Changed
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.cluster_checks import read_params
from mgmt_drivers.cluster.cluster_params import LOGIN_GROUPS
from mgmt_drivers.cluster.etcd import etcd
from mgmt_drivers.cluster.helm import helm
from mgmt_drivers.cluster.kubeadm import kubeadm
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.storage import disks
from mgmt_drivers.cluster.topology import Topology, describe_shared_hosts, topology
from mgmt_drivers.engine.operation import Operation
from mgmt_drivers.engine.phase import Work, in_turn, on
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import EtcdAlarm, MgmtDriverError
from mgmt_drivers.inventory import Node, check_created
from mgmt_drivers.machine.host import Host
from mgmt_drivers.package import grouped_vdus
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.setup.preflight import WaitForCloudInit
from mgmt_drivers.vim import HelmAccess, Vims

LOG = logging.getLogger(__name__)

GATHER = "gather facts"  # title of questions in traces
CHECK_LOGIN = "check the login for Helm"


def read_topology(
    request: LcmRequest, services: Services, changed: Changed | None = None
) -> Topology:
    """Read the parameters and the machines of a cluster, without a login.

    :param changed: a patch besides those of earlier modifications
    """
    kept = changed_params.load(services.store)
    own = changed_params.apply(changed_params.apply(request, kept), changed or {})
    params = read_params(own)
    if params.unmanaged_vdu:
        LOG.info(
            "VNF %s: VDU %s is not set up, since the request has no storage_server",
            request.vnf_instance_id,
            params.unmanaged_vdu,
        )
    grouped = grouped_vdus(request.package, request.flavour)
    machines = inventory.read(request, services.stacks, placed=bool(grouped))
    # Heat gives the logins of the instantiate request to new machines, and a change of logins that
    # failed has left others.
    others = {key: patch for key, patch in kept.items() if key not in LOGIN_GROUPS}
    tried = ({}, *changed_params.load_wanted_logins(services.store))
    before = [changed_params.apply(request, {**others, **each}) for each in tried]
    formers = [params if each == own else read_params(each) for each in before]
    return replace(topology(params, machines, grouped), formers=tuple(formers))


def open_operation(request: LcmRequest, services: Services, known: Topology) -> Operation:
    shared = describe_shared_hosts(known.control_plane)
    if shared:
        LOG.warning("VNF %s: %s", request.vnf_instance_id, shared)
    secrets = [each for params in (known.params, *known.formers) for each in params.secrets()]
    return Operation(request, services, known.machines, known.endpoint, secrets)


def choose_leader(
    operation: Operation,
    known: Topology,
    targets: Sequence[Node] = (),
    fallback: Sequence[Callable[[Host], None]] = (),
) -> Host:
    """Choose and log in to the leader, from which the operation works; not one of its targets.

    :param fallback: weaker checks, tried one after the other if the API of no node is ready
    """
    candidates = [node for node in known.control_plane if node not in targets]

    def check_ready(host: Host) -> None:
        kubeadm.check_member(host)
        try:
            kubeadm.check_ready(host)
        except MgmtDriverError as error:
            alarms = _read_alarms(host, Cluster(known, operation.services.store, host))
            if alarms:
                raise EtcdAlarm(f"{error}. {alarms}") from error
            raise

    checks = (check_ready, *fallback)
    return operation.choose("choose a control-plane node", candidates, checks)


def _read_alarms(host: Host, cluster: Cluster) -> str:
    """Read the alarms of etcd in words: with some of them no apiserver is ready."""
    try:
        return etcd.read_status(host, cluster).describe_alarms()
    except MgmtDriverError:  # which is not why the apiserver is not ready
        return ""


def read_upgraded(
    operation: Operation, known: Topology, leader: Host, changed: Changed | None = None
) -> Topology:
    """Read the parameters of the release that the cluster has; Tacker may know an older release."""
    request, store = operation.request, operation.services.store
    release = operation.ask(GATHER, leader, kubeadm.read_cluster_release)
    kept = changed_params.choose_for_release(request, store, release, changed)
    if kept == changed_params.load(store):
        return known
    changed_params.save(store, kept)
    params = read_params(changed_params.apply(changed_params.apply(request, kept), changed or {}))
    return replace(known, params=params)


def connect_to_new(
    operation: Operation, known: Topology, nodes: Sequence[Node]
) -> list[Host]:
    """Log in to new machines, and wait for cloud-init, before which they may reboot."""
    hosts = operation.connect(nodes)
    operation.run(known, on(hosts, WaitForCloudInit()), *change_logins(known, hosts))
    return hosts


def change_logins(known: Topology, hosts: Sequence[Host]) -> Sequence[Work[Topology]]:
    """Change the logins of the machines that may have former ones.

    Control-plane nodes come last: a heal of a machine that fails here needs one of them, and the
    storage server, by the former login.
    """
    old = [host for host in hosts if known.endpoint(host.node).formers]
    masters = [host for host in old if known.is_control_plane(host.node)]
    workers = [host for host in old if host.node in known.workers]
    storage = [host for host in old if host not in (*masters, *workers)]
    return [
        *(on(group, ChangeLogin()) for group in (workers, storage)),
        in_turn(masters, ChangeLogin()),
        on(old, RemoveFormerKey()),
    ]


def read_markers(operation: Operation, known: Topology, new: Sequence[Host]) -> list[Host]:
    """Find the new nodes on which kubeadm has succeeded in an earlier attempt."""
    nodes = [host for host in new if host.node in known.nodes]
    answers = operation.ask_each(GATHER, nodes, kubeadm.is_member)
    return [host for host, is_member in zip(nodes, answers, strict=True) if is_member]


def find_members(
    operation: Operation, known: Topology, leader: Host, marked: Sequence[Host]
) -> list[Host]:
    """Find the nodes with a marker that are nodes of the cluster.

    Trust the cluster, not the marker: a node may have been removed since. The leader is always a
    member.
    """
    if not marked:
        return []
    nodes = operation.ask(GATHER, leader, kubectl.list_nodes)
    return [host for host in marked if host is leader or known.name(host.node) in nodes]


def connect_storage(
    operation: Operation, known: Topology, masters_change: bool, is_needed: bool = False
) -> list[Host]:
    """Log in to the storage server, if its exports or its accounts depend on the nodes.

    A new storage server whose own heal has not mounted its volumes yet is left out: its heal
    serves the nodes, and is repeated anyway.

    :param masters_change: control-plane nodes, which may save backups there, come or go
    :param is_needed: new nodes need exports to their addresses
    :raises OperationError: if the server is needed and does not answer
    """
    server, storage = known.backup_server if masters_change else None, known.storage
    hosts = operation.connect_to_running([server.node]) if server else []
    if server and not hosts:
        LOG.warning(
            "the storage server does not answer: control-plane nodes that are new cannot save "
            "backups of etcd there until the storage server or a control-plane node is healed"
        )
    if storage and storage.params.exports_to_nodes:
        hosts += operation.connect_to_running([storage.node])
        hosts += operation.connect([storage.node]) if is_needed else []
    hosts = [*dict.fromkeys(hosts)]
    points = [volume.mount_point for volume in storage.params.volumes] if storage else []

    def has_volumes(host: Host) -> bool:
        return all(disks.is_mount_point(host, point) for point in points)

    served = [host for host in hosts if operation.ask(GATHER, host, has_volumes)]
    if hosts and not served:
        LOG.warning("the storage server has not mounted its volumes: repeat its heal")
    return served


def check_volumes(request: LcmRequest, known: Topology, machines: Sequence[Node]) -> None:
    """:raises InventoryError: if Heat could not create a volume of the storage server"""
    server = known.storage
    if server and server.node in machines:
        missing = [f"volume {name}" for name, id_ in server.volumes.items() if not id_]
        check_created(request, missing)


def check_helm_login(
    operation: Operation, known: Topology, new: Sequence[Host], vims: Vims
) -> None:
    """Check that Tacker can run Helm on the new control-plane nodes, if the parameters say so."""
    if known.params.helm and vims.log_in_for_helm:
        masters = [host for host in new if known.is_control_plane(host.node)]
        operation.ask_each(CHECK_LOGIN, masters, helm.check_login)


def helm_access(known: Topology, nodes: Sequence[Node]) -> HelmAccess:
    group = known.params.master
    addresses = tuple(node.address(group.ssh_cp_name) for node in nodes)
    return HelmAccess(addresses, group.login)


def move_helm(known: Topology, nodes: Sequence[Node], vims: Vims) -> None:
    """Tell Tacker which control-plane nodes have Helm, if the parameters ask for Helm."""
    if known.params.helm:
        vims.move_helm(helm_access(known, nodes))
