"""The Kubernetes cluster driver, free of Tacker: request in, machines changed, a VIM out."""

import functools
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from mgmt_drivers import deletion, restore
from mgmt_drivers.engine.operation import RUNNING_LIMIT, Operation
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import InventoryError, MgmtDriverError, Occupied, ParameterError
from mgmt_drivers.host.host import Host
from mgmt_drivers.inventory import Node, check_created
from mgmt_drivers.kube import helm, kubeadm, kubectl, node_metadata, service_account
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.service_account import VIM_ACCOUNT
from mgmt_drivers.kube.topology import StorageServer, Topology, check_networks, check_scaling
from mgmt_drivers.opening import (
    GATHER,
    as_upgraded,
    choose_leader,
    find_renewal,
    open_operation,
    read,
)
from mgmt_drivers.params.backup import Restore
from mgmt_drivers.params.kubernetes import NAME, KubernetesParams, read_params
from mgmt_drivers.plans import kubernetes as plans
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.targets import (
    check_targets_of_scaling,
    master_vdus,
    targets_of,
    without_left_alone,
)
from mgmt_drivers.vim import HelmAccess, Vim, Vims

LOG = logging.getLogger(__name__)

CHECK_LOGIN = "check the login for Helm"


def validate(request: LcmRequest, vims: Vims) -> None:
    """Check the request before anything exists.

    :raises ParameterError: with every error
    """
    params = read_params(request)
    restore.of_instantiation(params)
    name = _vim_name(params, request)
    errors: list[str] = []
    if vims.is_taken(name):
        errors.append(f"{NAME}.vim_name: Tacker already has a VIM {name}; choose another")
    if params.helm and vims.log_in_for_helm and not params.master.login.password:
        errors.append(
            f"{NAME}.master_node.password: missing: Tacker's v1 API logs in with it to run Helm"
        )
    if errors:
        raise ParameterError(errors)


def instantiate(request: LcmRequest, services: Services, vims: Vims) -> None:
    """Make the VNF's machines a cluster and register it.

    :raises MgmtDriverError: naming machine, phase and cause
    """
    found = read(request, services)
    _make_cluster(request, services, vims, found, restore.of_instantiation(found.params))


def _make_cluster(
    request: LcmRequest,
    services: Services,
    vims: Vims,
    found: Topology,
    wanted: Restore | None,
) -> None:
    """Make all of the VNF's machines a cluster, an empty one or that of a backup."""
    check_networks(found)
    _check_volumes(request, found, found.machines)
    with open_operation(request, services, found) as operation:
        hosts = operation.connect(found.machines)
        _check_helm_login(operation, found, hosts, vims)
        joined = _having_joined(operation, found, hosts)
        # An attempt before this one may have initialized the control plane.
        leader = next(h for h in [*joined, *hosts] if found.is_control_plane(h.node))
        cluster = _joining(operation, found, leader, hosts, joined)
        operation.run(plans.INSTANTIATE, replace(cluster, restore=wanted))
        if services.rehearsal:
            return  # there is no cluster to register
        read_account = functools.partial(service_account.read, account=VIM_ACCOUNT)
        credentials = operation.ask("read the VIM credentials", leader, read_account)
    url = f"https://{found.public}:{found.port}"
    access = _helm_access(found, found.control_plane) if found.params.helm else None
    vims.register(Vim(_vim_name(found.params, request), url, credentials, access))


def check_scale_out(request: LcmRequest, services: Services, coming: Mapping[str, int]) -> None:
    """Check a scale-out before its machines exist.

    :param coming: how many machines will come, by VDU
    :raises MgmtDriverError: when etcd would have a number of members that is even
    """
    found = read(request, services)
    masters = sum(coming.get(vdu, 0) for vdu in master_vdus(found))
    if masters:
        present = len(found.control_plane)
        check_scaling(request.aspect, present, present + masters)


def scale_out(request: LcmRequest, services: Services, vims: Vims) -> None:
    """Join the machines that have come: the request's targets.

    One that fails leaves nothing of them in the cluster, ready to be tried
    again or to be taken away.
    """
    found = read(request, services)
    new = targets_of(request, found)
    others = [node for node in found.control_plane if node not in new]
    present = len(found.control_plane)
    has_control_plane = check_targets_of_scaling(request, found, new, len(others), present)
    try:
        with open_operation(request, services, found) as operation:
            leader = choose_leader(operation, found, new)
            found = as_upgraded(operation, found, leader)
            serving = operation.connect(others, RUNNING_LIMIT) if has_control_plane else []
            hosts = operation.connect(new)
            joined = _having_joined(operation, found, hosts)
            if has_control_plane:
                _check_helm_login(operation, found, hosts, vims)
                serving += _keeping(operation, found)
            serving += _exporting(operation, found, is_needed=True)
            cluster = _joining(operation, found, leader, hosts, joined, serving)
            renewal = find_renewal(operation, others)
            operation.run(plans.SCALE_OUT, replace(cluster, renewal=renewal))
    except MgmtDriverError as failure:
        if isinstance(failure.__cause__, Occupied):
            raise  # nothing was changed, and the nodes may be the other operation's
        try:
            with open_operation(request, services, found) as operation:
                leader = choose_leader(operation, found, new)
                machines = [*others, *new] if has_control_plane else []
                hosts = [*dict.fromkeys([leader, *operation.connect_to_running(machines)])]
                cluster = Cluster(found, services.store, hosts, leader, leaving=new)
                operation.run(plans.UNDO_SCALE_OUT, cluster)
        except MgmtDriverError as error:
            LOG.warning("nodes of the failed scale-out may be left: %s", error)
        raise
    if has_control_plane:
        _move_helm(found, found.control_plane, vims)


def begin_roll_back(request: LcmRequest, services: Services, came: Collection[str]) -> None:
    """Remove control-plane nodes of a scale-out that failed, before Heat takes their machines.

    Most often the scale-out has done so itself. A member of etcd that is gone counts for the
    quorum; a worker may just vanish.

    :param came: the VDUs of the machines
    """
    if master_vdus(read(request, services)) & {*came}:
        roll_back_scale_out(request, services, came)


def roll_back_scale_out(
    request: LcmRequest, services: Services, came: Collection[str] = ()
) -> None:
    """Remove nodes that are no machines of the VNF any more, or never became any.

    :param came: the VDUs of the machines that came
    """
    found = read(request, services)
    has_control_plane = bool(master_vdus(found) & {*came})
    with open_operation(request, services, found) as operation:
        leader = choose_leader(operation, found)
        others = operation.connect_to_running(found.control_plane) if has_control_plane else []
        hosts = [*dict.fromkeys([leader, *others, *_exporting(operation, found)])]
        cluster = Cluster(found, services.store, hosts, leader, rolls_back=has_control_plane)
        operation.run(plans.ROLL_BACK_SCALE_OUT, cluster)


def scale_in(request: LcmRequest, services: Services, vims: Vims) -> None:
    """Drain and remove the nodes that are about to go: the request's targets.

    Those whose machines Heat has deleted, before an attempt failed, are left alone: they were
    removed then.
    """
    found = read(request, services)
    if not request.targets:
        raise InventoryError("nothing is to be scaled in: no VNFC of this VNF is to be removed")
    gone = {vnfc.id for vnfc in request.vnfcs} - {node.vnfc_id for node in found.machines}
    if request.targets <= gone:
        return
    leaving = targets_of(replace(request, targets=request.targets - gone), found)
    lost = [node for node in leaving if found.is_control_plane(node)]
    staying = [node for node in found.control_plane if node not in leaving]
    check_targets_of_scaling(request, found, leaving, len(found.control_plane), len(staying))
    with open_operation(request, services, found) as operation:
        leader = choose_leader(operation, found, leaving)
        # One that comes back later with the old configuration might claim the virtual IP twice.
        others = operation.connect(staying, RUNNING_LIMIT) if lost else [leader]
        others += operation.connect_to_running(lost)
        others += _keeping(operation, found) if lost else []
        hosts = [*dict.fromkeys([*others, *_exporting(operation, found)])]
        renewal = find_renewal(operation, staying)
        cluster = Cluster(found, services.store, hosts, leader, leaving=leaving, renewal=renewal)
        operation.run(plans.SCALE_IN, cluster)
    if lost:
        _move_helm(found, staying, vims)


def heal_start(request: LcmRequest, services: Services, vims: Vims) -> None:
    """Take the request's targets out of the cluster, before their machines are replaced.

    Without targets the whole VNF is replaced, and its VIM is unregistered.

    :raises MgmtDriverError: where the cluster would not survive it, or another operation works on
        the VNF, with nothing changed
    """
    if not request.targets:
        if request.restore_from is not None:
            _prepare_restore(request, services)
        refuse_occupied(request, services)
        vims.unregister()
        return
    restore.refuse(request)
    found = read(request, services)
    request = without_left_alone(request, found)
    if not request.targets:
        return
    leaving = targets_of(request, found)
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
        found = read(request, services)
        _make_cluster(request, services, vims, found, restore.of_heal(request, found.params))
        node_metadata.save(services.store, {})
        node_metadata.forget_replaced(services.store)
        return
    found = read(request, services)
    request = without_left_alone(request, found)
    if not request.targets:
        return
    coming = targets_of(request, found)
    others = [node for node in found.control_plane if node not in coming]
    has_control_plane = len(others) < len(found.control_plane)
    _check_volumes(request, found, coming)
    with open_operation(request, services, found) as operation:
        leader = choose_leader(operation, found, coming)
        found = as_upgraded(operation, found, leader)
        new = operation.connect(coming)
        _check_helm_login(operation, found, new, vims)
        # Who saves backups, and who keeps them, know each other.
        keeper = found.backup_server
        is_known = has_control_plane or (keeper and keeper.node in coming)
        serving = operation.connect_to_running(others) if is_known else []
        serving += _keeping(operation, found) if has_control_plane else []
        serving += _exporting(operation, found, is_needed=True)
        joined = _having_joined(operation, found, new)
        cluster = _joining(operation, found, leader, new, joined, serving)
        renewal = find_renewal(operation, others)
        operation.run(plans.HEAL_END, replace(cluster, renewal=renewal))
    if has_control_plane:
        _move_helm(found, found.control_plane, vims)
    node_metadata.forget(services.store, request.targets)


def refuse_occupied(request: LcmRequest, services: Services) -> None:
    """See that no other operation works on the VNF, all machines of which are to be deleted.

    :raises OperationError: naming each machine that another operation has, and which
    """

    def prepare() -> tuple[Operation, Sequence[Node]]:
        found = read(request, services)
        return open_operation(request, services, found), found.machines

    deletion.refuse_occupied(request, services, prepare)


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


def _check_helm_login(
    operation: Operation, found: Topology, new: Sequence[Host], vims: Vims
) -> None:
    """See that Tacker will be able to run Helm on the new control-plane nodes, where it is to."""
    if found.params.helm and vims.log_in_for_helm:
        masters = [host for host in new if found.is_control_plane(host.node)]
        operation.ask_each(CHECK_LOGIN, masters, helm.check_login)


def _move_helm(found: Topology, nodes: Sequence[Node], vims: Vims) -> None:
    """Let Tacker know the control-plane nodes that have Helm, where the request asks for it."""
    if found.params.helm:
        vims.move_helm(_helm_access(found, nodes))


def _helm_access(found: Topology, nodes: Sequence[Node]) -> HelmAccess:
    group = found.params.master
    addresses = tuple(node.address(group.ssh_cp_name) for node in nodes)
    return HelmAccess(addresses, group.login)


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


def _prepare_restore(request: LcmRequest, services: Services) -> None:
    """See that a heal of the whole VNF can restore what it wants, as far as anybody can tell.

    :raises ParameterError: when it cannot
    """
    found = read(request, services)
    wanted = restore.of_heal(request, found.params)
    if wanted and wanted.file is None:
        with open_operation(request, services, found) as operation:
            restore.check_backup(operation, found, wanted)
    names = {found.name(node): node.vnfc_id for node in found.nodes if node.server_id}
    node_metadata.save_replaced(services.store, names)


def _keeping(operation: Operation, found: Topology) -> list[Host]:
    """The storage server, where the control-plane nodes that come or go save backups.

    Without it the control plane changes all the same.
    """
    keeper = found.backup_server
    hosts = operation.connect_to_running([keeper.node]) if keeper else []
    if keeper and not hosts:
        LOG.warning(
            "the storage server does not answer: it does not learn which control-plane nodes save "
            "backups of etcd now, until it is healed, or a control-plane node is"
        )
    return hosts


def _check_volumes(request: LcmRequest, found: Topology, machines: Sequence[Node]) -> None:
    """:raises InventoryError: when Heat could not create a volume of a storage server"""
    for server in _storage(found, machines):
        lacking = [f"volume {name}" for name, id_ in server.volumes.items() if not id_]
        check_created(request, lacking)


def _vim_name(params: KubernetesParams, request: LcmRequest) -> str:
    return params.vim_name or f"kubernetes_vim_{request.vnf_instance_id}"
