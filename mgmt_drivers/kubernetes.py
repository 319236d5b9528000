"""The Kubernetes cluster driver, free of Tacker: request in, machines changed, a VIM out."""

import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from mgmt_drivers import inventory
from mgmt_drivers.engine.operation import Operation
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import InventoryError, MgmtDriverError, Occupied, ParameterError
from mgmt_drivers.host.host import Host
from mgmt_drivers.inventory import Node, check_created
from mgmt_drivers.kube import (
    changed_params,
    kubeadm,
    kubectl,
    node_metadata,
    service_account,
)
from mgmt_drivers.kube.changed_params import Changed
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.service_account import VIM_ACCOUNT, Credentials
from mgmt_drivers.kube.topology import StorageServer, Topology, check_networks, topology
from mgmt_drivers.package import has_server_group
from mgmt_drivers.params.kubernetes import NAME, KubernetesParams, read_params
from mgmt_drivers.plans import kubernetes as plans
from mgmt_drivers.request import LcmRequest

LOG = logging.getLogger(__name__)

GATHER = "gather facts"  # the title under which the trace notes it


@dataclass(frozen=True)
class Vim:
    """A cluster as it is to be registered in Tacker."""

    name: str
    url: str
    credentials: Credentials


class Vims(Protocol):
    """The clusters that are registered in Tacker."""

    def is_taken(self, name: str) -> bool:
        """Whether there is a VIM of that name which is not this VNF's."""

    def register(self, vim: Vim) -> None:
        """Register a cluster, in the place of one of this VNF that was registered before."""

    def unregister(self) -> None:
        """Remove what is registered of this VNF, if anything."""


def validate(request: LcmRequest, vims: Vims) -> None:
    """Check the request before anything exists.

    :raises ParameterError: with every error
    """
    name = _vim_name(read_params(request), request)
    if vims.is_taken(name):
        raise ParameterError([f"{NAME}.vim_name: Tacker already has a VIM {name}; choose another"])


def instantiate(request: LcmRequest, services: Services, vims: Vims) -> None:
    """Make the VNF's machines a cluster and register it.

    :raises MgmtDriverError: naming machine, phase and cause
    """
    found = read(request, services)
    check_networks(found)
    _check_volumes(request, found, found.machines)
    with open_operation(request, services, found) as operation:
        hosts = operation.connect(found.machines)
        joined = _having_joined(operation, found, hosts)
        # An attempt before this one may have initialized the control plane.
        leader = next(h for h in [*joined, *hosts] if found.is_control_plane(h.node))
        cluster = _joining(operation, found, leader, hosts, joined)
        operation.run(plans.INSTANTIATE, cluster)
        read_account = functools.partial(service_account.read, account=VIM_ACCOUNT)
        credentials = operation.ask("read the VIM credentials", leader, read_account)
    url = f"https://{found.public}:{found.port}"
    vims.register(Vim(_vim_name(found.params, request), url, credentials))


def scale_out(request: LcmRequest, services: Services) -> None:
    """Join the workers that have come: the request's targets.

    One that fails leaves nothing of them in the cluster, ready to be tried
    again or to be taken away.
    """
    found = read(request, services)
    new = _workers(request, found)
    try:
        with open_operation(request, services, found) as operation:
            leader = choose_leader(operation, found, new)
            found = as_upgraded(operation, found, leader)
            hosts = operation.connect(new)
            joined = _having_joined(operation, found, hosts)
            exporting = _exporting(operation, found, is_needed=True)
            cluster = _joining(operation, found, leader, hosts, joined, exporting)
            operation.run(plans.SCALE_OUT, cluster)
    except MgmtDriverError as failure:
        if isinstance(failure.__cause__, Occupied):
            raise  # nothing was changed, and the nodes may be the other operation's
        try:
            with open_operation(request, services, found) as operation:
                leader = choose_leader(operation, found, new)
                cluster = Cluster(found, services.store, [leader], leader, leaving=new)
                operation.run(plans.UNDO_SCALE_OUT, cluster)
        except MgmtDriverError as error:
            LOG.warning("nodes of the failed scale-out may be left: %s", error)
        raise


def roll_back_scale_out(request: LcmRequest, services: Services) -> None:
    """Remove nodes that are no machines of the VNF any more, or never became any."""
    found = read(request, services)
    with open_operation(request, services, found) as operation:
        leader = choose_leader(operation, found)
        hosts = [leader, *_exporting(operation, found)]
        cluster = Cluster(found, services.store, hosts, leader)
        operation.run(plans.ROLL_BACK_SCALE_OUT, cluster)


def scale_in(request: LcmRequest, services: Services) -> None:
    """Drain and remove the workers that are about to go: the request's targets.

    Those whose machines Heat has deleted, before an attempt failed, are left alone: they were
    removed then.
    """
    found = read(request, services)
    if not request.targets:
        raise InventoryError("nothing is to be scaled in: no VNFC of this VNF is to be removed")
    gone = {vnfc.id for vnfc in request.vnfcs} - {node.vnfc_id for node in found.machines}
    if request.targets <= gone:
        return
    leaving = _workers(replace(request, targets=request.targets - gone), found)
    with open_operation(request, services, found) as operation:
        leader = choose_leader(operation, found, leaving)
        hosts = [leader, *_exporting(operation, found)]
        cluster = Cluster(found, services.store, hosts, leader, leaving=leaving)
        operation.run(plans.SCALE_IN, cluster)


def heal_start(request: LcmRequest, services: Services, vims: Vims) -> None:
    """Take the request's targets out of the cluster, before their machines are replaced.

    Without targets the whole VNF is replaced, and its VIM is unregistered.

    :raises MgmtDriverError: where the cluster would not survive it, with nothing changed
    """
    if not request.targets:
        vims.unregister()
        return
    found = read(request, services)
    request = _without_left_alone(request, found)
    if not request.targets:
        return
    leaving = _targets(request, found)
    lost = [node for node in leaving if found.is_control_plane(node)]
    staying = [node for node in found.control_plane if node not in leaving]
    if not staying:
        raise MgmtDriverError(
            "no control-plane node of the cluster would be left. Heal the whole VNF (a request "
            "without vnfcInstanceId), which makes a new cluster"
        )
    with open_operation(request, services, found) as operation:
        # With an API that is not ready etcd can still tell why no control-plane node may go.
        fallback = [kubeadm.check_member] if lost else []
        leader = choose_leader(operation, found, leaving, fallback)
        others = operation.connect_to_running([*staying, *lost]) if lost else [leader]
        cluster = Cluster(
            found,
            services.store,
            others,
            leader,
            leaving=[node for node in leaving if node in found.nodes],
            storage=_storage(found, leaving),
        )
        operation.run(plans.HEAL_START, cluster)


def heal_end(request: LcmRequest, services: Services, vims: Vims) -> None:
    """Join the machines that came in the place of the request's targets.

    Without targets all machines have been replaced: they become a new cluster.
    """
    if not request.targets:
        instantiate(request, services, vims)
        node_metadata.save(services.store, {})
        return
    found = read(request, services)
    request = _without_left_alone(request, found)
    if not request.targets:
        return
    coming = _targets(request, found)
    others = [node for node in found.control_plane if node not in coming]
    has_control_plane = len(others) < len(found.control_plane)
    _check_volumes(request, found, coming)
    with open_operation(request, services, found) as operation:
        leader = choose_leader(operation, found, coming)
        found = as_upgraded(operation, found, leader)
        new = operation.connect(coming)
        serving = operation.connect_to_running(others) if has_control_plane else []
        serving += _exporting(operation, found, is_needed=True)
        joined = _having_joined(operation, found, new)
        cluster = _joining(operation, found, leader, new, joined, serving)
        operation.run(plans.HEAL_END, cluster)
    node_metadata.forget(services.store, request.targets)


def read(request: LcmRequest, services: Services, changed: Changed | None = None) -> Topology:
    """What is known of the cluster before any machine is asked.

    :param changed: parameters to be changed besides those that an upgrade has changed before
    """
    kept = changed_params.load(services.store)
    params = read_params(changed_params.applied(request, {**kept, **(changed or {})}))
    if params.left_alone:
        LOG.info(
            "VNF %s: VDU %s is not set up, for the request has no storage_server",
            request.vnf_instance_id,
            params.left_alone,
        )
    is_spread = has_server_group(request.package, request.flavour)
    machines = inventory.read(request, services.stacks, placed=is_spread)
    return topology(params, machines, is_spread)


def as_upgraded(
    operation: Operation, found: Topology, leader: Host, changed: Changed | None = None
) -> Topology:
    """With the parameters as an upgrade has left them, of which Tacker may know nothing."""
    request, store = operation.request, operation.services.store
    kept = operation.ask(GATHER, leader, changed_params.of_cluster)
    if kept is None or kept == changed_params.load(store):
        return found
    changed_params.save(store, kept)
    params = read_params(changed_params.applied(request, {**kept, **(changed or {})}))
    return replace(found, params=params)


def open_operation(request: LcmRequest, services: Services, found: Topology) -> Operation:
    secrets = found.params.secrets()
    return Operation(request, services, found.machines, found.endpoint, secrets)


def choose_leader(
    operation: Operation,
    found: Topology,
    targets: Sequence[Node] = (),
    fallback: Sequence[Callable[[Host], None]] = (),
) -> Host:
    """The control-plane node from which an operation works: none of its targets.

    :param fallback: checks that will do, one after the other, where no node is well
    """
    candidates = [node for node in found.control_plane if node not in targets]
    checks = (kubeadm.check_ready, *fallback)
    return operation.choose("choose a control-plane node", candidates, checks)


def _joining(
    operation: Operation,
    found: Topology,
    leader: Host,
    new: Sequence[Host],
    joined: Sequence[Host],
    serving: Sequence[Host] = (),
) -> Cluster:
    """The cluster that new machines are to join, but for those that have joined before."""
    # The cluster has the last word: it may have lost a machine since. Not the leader,
    # from which the operation works.
    is_initialized = leader in joined or leader not in new
    nodes = operation.ask(GATHER, leader, kubectl.nodes) if joined and is_initialized else {}
    names = {found.name(h.node) for h in joined if h is leader or found.name(h.node) in nodes}
    return Cluster(
        found,
        operation.services.store,
        hosts=[*dict.fromkeys([leader, *serving, *new])],
        leader=leader,
        joining=[host for host in new if host.node in found.nodes],
        members=frozenset(names),
        storage=_storage(found, [host.node for host in new]),
    )


def _having_joined(operation: Operation, found: Topology, new: Sequence[Host]) -> list[Host]:
    """Those of the new nodes on which kubeadm has ended well, in an attempt before this one."""
    nodes = [host for host in new if host.node in found.nodes]
    answers = operation.ask_each(GATHER, nodes, kubeadm.is_member)
    return [host for host, is_member in zip(nodes, answers, strict=True) if is_member]


def _storage(found: Topology, machines: Sequence[Node]) -> list[StorageServer]:
    """The storage server, if it is one of the machines."""
    return [found.storage] if found.storage and found.storage.node in machines else []


def _exporting(operation: Operation, found: Topology, is_needed: bool = False) -> list[Host]:
    """The storage server, where its exports follow the nodes.

    :param is_needed: nodes come, which could mount nothing without it
    :raises OperationError: when it is needed and does not answer
    """
    storage = found.storage
    if storage is None or not storage.params.exports_to_nodes:
        return []
    hosts = operation.connect_to_running([storage.node])
    return operation.connect([storage.node]) if is_needed else hosts


def _check_volumes(request: LcmRequest, found: Topology, machines: Sequence[Node]) -> None:
    """:raises InventoryError: when Heat could not create a volume of a storage server"""
    for server in _storage(found, machines):
        lacking = [f"volume {name}" for name, id_ in server.volumes.items() if not id_]
        check_created(request, lacking)


def _without_left_alone(request: LcmRequest, found: Topology) -> LcmRequest:
    """The request without the targets that are not the cluster's, but are the VNF's."""
    others = {vnfc.id for vnfc in request.vnfcs if vnfc.vdu_id == found.params.left_alone}
    return replace(request, targets=request.targets - others)


def _targets(request: LcmRequest, found: Topology) -> list[Node]:
    """The machines that the request is about, control plane first, the storage server last."""
    if not request.targets:
        raise InventoryError(
            "Tacker has found no new machine. It may have looked before Heat began: give "
            "Heat longer (tacker.conf, [openstack_vim] stack_retry_wait)"
        )
    targets = [node for node in found.machines if node.vnfc_id in request.targets]
    lacking = set(request.targets) - {node.vnfc_id for node in targets}
    if lacking:
        raise InventoryError(f"the VNF does not have the VNFCs {sorted(lacking)} of the request")
    return targets


def _workers(request: LcmRequest, found: Topology) -> list[Node]:
    """The targets of scaling, which are workers."""
    targets = _targets(request, found)
    if any(node not in found.workers for node in targets):
        raise MgmtDriverError(
            "only workers can be scaled: the number of control-plane nodes is fixed when the VNF "
            "is instantiated. Scale the workers, or instantiate another VNF"
        )
    return targets


def _vim_name(params: KubernetesParams, request: LcmRequest) -> str:
    return params.vim_name or f"kubernetes_vim_{request.vnf_instance_id}"
