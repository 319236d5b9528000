"""Heal: remove the targets from the cluster, and join the machines that replace them.

Without targets all machines are replaced, and become a new cluster.
"""

from collections.abc import Collection, Sequence

from mgmt_drivers.cluster.addons.addon_phases import ApplyAddons
from mgmt_drivers.cluster.backup.backup_phases import ForgetBackup
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.etcd.etcd_phases import RemoveEtcdMembers
from mgmt_drivers.cluster.kubeadm import kubeadm
from mgmt_drivers.cluster.load_balancer.load_balancer_phases import (
    ConfigureLoadBalancer,
    ReleaseVirtualIp,
)
from mgmt_drivers.cluster.nodes import lost_nodes, node_metadata
from mgmt_drivers.cluster.nodes.drain_nodes import DrainNodes, UncordonNodes
from mgmt_drivers.cluster.nodes.metadata_phases import RestoreNodeMetadata, SaveNodeMetadata
from mgmt_drivers.cluster.nodes.remove_nodes import RemoveNodes
from mgmt_drivers.cluster.self_healing import heal_history
from mgmt_drivers.cluster.storage.volume_phases import CheckVolumes, RegisterVolumes, RemoveVolumes
from mgmt_drivers.cluster.topology import Topology
from mgmt_drivers.engine.operation import Operation
from mgmt_drivers.engine.phase import on
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import Refused
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine.host import Host
from mgmt_drivers.operations import automatic_heal, groups, opening, restore
from mgmt_drivers.operations.instantiate import make_cluster
from mgmt_drivers.operations.renew import find_due, renew_due
from mgmt_drivers.operations.targets import targets_of, without_unmanaged
from mgmt_drivers.operations.terminate import check_unlocked
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.vim import Vims


def heal_start(request: LcmRequest, services: Services, vims: Vims) -> None:
    """Remove the request's targets from the cluster, before their machines are replaced.

    Without targets the whole VNF is replaced, and its VIM is unregistered.

    :raises MgmtDriverError: before any change, if the cluster would not survive the heal, if
        another operation works on the VNF, or if a guard rail holds a heal that nobody typed
    """
    automatic_heal.refuse_whole(request)
    if request.targets:
        _remove_targets(request, services)
        return
    if request.restore_from is None:
        check_unlocked(request.vnf_instance_id, services, lambda: request)
        vims.unregister()
    else:
        known = opening.read_topology(request, services)
        # Errors of the request come before any machine is asked.
        backup, contents = restore.of_heal(request, known.params, services.store)
        check_unlocked(request.vnf_instance_id, services, lambda: request)
        if backup and contents is None:
            contents = restore.look_for(request, services, known, backup)
        vims.unregister()
        restore.begin(services.store, known, contents)  # last: a heal that is refused keeps nothing


def _remove_targets(request: LcmRequest, services: Services) -> None:
    restore.refuse(request)
    known = opening.read_topology(request, services)
    request = without_unmanaged(request, known)
    if not request.targets:
        return
    targets = targets_of(request, known)
    leaving = [node for node in targets if node in known.nodes]
    staying = [node for node in known.control_plane if node not in leaving]
    guard = automatic_heal.Guard(request, services, known, targets)
    guard.check_before(services.clock.time())
    if not staying:
        raise Refused(
            f"no control-plane node of the cluster would be left: {automatic_heal.WHOLE_HEAL}"
        )
    lost = [node for node in leaving if known.is_control_plane(node)]
    with opening.open_operation(request, services, known) as operation:
        # If no apiserver is ready, etcd can still explain why no control-plane node may be removed.
        fallback = [kubeadm.check_member] if lost else []
        guard.reach(operation)
        with guard.look():
            leader = opening.choose_leader(operation, known, leaving, fallback)
        masters = operation.connect_to_running(staying) if lost else []
        going = operation.connect_to_running(lost)
        cluster = Cluster(known, services.store, leader, leaving=leaving)
        if_masters = [leader] if lost else []
        if_nodes = [leader] if leaving else []
        if_storage = [leader] if len(leaving) < len(targets) else []
        operation.run(
            cluster,
            on(if_masters, guard.check_quorum(lost)),
            on([leader], *guard.check_machines()),
        )
        with guard.look_at_release():
            # The heal's end asks the same, when the machines are gone.
            opening.read_upgraded(operation, known, leader)
        operation.run(
            cluster,
            on(if_storage, CheckVolumes()),
            groups.show_last_backup(cluster),
            on(if_nodes, SaveNodeMetadata(), UncordonNodes(), DrainNodes()),
            # Without its member of etcd, the apiserver of a node that still runs serves nobody.
            on(going, ReleaseVirtualIp()),
            on(masters, ConfigureLoadBalancer()),
            on(if_masters, RemoveEtcdMembers()),  # for etcd's quorum, before a successor is added
            on(if_nodes, RemoveNodes()),
            on(if_storage, RemoveVolumes()),
        )
    guard.note_passed()


def check_replaced(request: LcmRequest, services: Services, vnfcs: Collection[str]) -> None:
    """Check machines that are to be healed one after another, before the first of them is.

    :raises Refused: if the only control-plane node is among them
    """
    masters = opening.read_topology(request, services).control_plane
    if len(masters) == 1 and masters[0].vnfc_id in vnfcs:
        raise Refused(
            "the only control-plane node of the cluster cannot be replaced: its machine has all of "
            f"etcd's data. Nothing was changed. Leave {masters[0].vdu} out of vdu_params"
        )


def heal_end(request: LcmRequest, services: Services, vims: Vims) -> None:
    """Join the machines that have replaced the request's targets, or make them a new cluster."""
    known = opening.read_topology(request, services)
    if request.targets:
        _join_successors(without_unmanaged(request, known), services, vims, known)
        return
    backup, _ = restore.of_heal(request, known.params, services.store)
    make_cluster(request, services, vims, known, backup)
    node_metadata.forget_replaced(services.store)


def _need_exports(
    operation: Operation, known: Topology, leader: Host, joining: Sequence[Node]
) -> bool:
    """Whether the storage server may not export to the address of a node that joins.

    Heat keeps the ports, so that exports stay as they are. A storage server that is dead must not
    hold the heal up: while its volumes are in use it cannot be healed itself.
    """
    if not (joining and known.storage and known.storage.params.exports_to_nodes):
        return False
    lost = operation.ask(opening.GATHER, leader, lost_nodes.load)
    exported = {vnfc: found.address for vnfc, found in lost.items()}
    return any(exported.get(node.vnfc_id) != known.address_of(node) for node in joining)


def _join_successors(
    request: LcmRequest, services: Services, vims: Vims, known: Topology
) -> None:
    if not request.targets:
        return
    coming = targets_of(request, known)
    staying = [node for node in known.control_plane if node not in coming]
    masters_come = len(staying) < len(known.control_plane)
    server_comes = known.storage is not None and known.storage.node in coming
    opening.check_volumes(request, known, coming)
    with opening.open_operation(request, services, known) as operation:
        leader = opening.choose_leader(operation, known, coming)
        known = opening.read_upgraded(operation, known, leader)
        new = opening.connect_to_new(operation, known, coming)
        opening.check_helm_login(operation, known, new, vims)
        # Control-plane nodes and the storage server need each other's host keys for backups.
        is_told = masters_come or (server_comes and known.backup_server)
        others = operation.connect_to_running(staying) if is_told else []
        marked = opening.read_markers(operation, known, new)
        members = opening.find_members(operation, known, leader, marked)
        joining = [h.node for h in new if h.node in known.nodes and h not in members]
        is_needed = _need_exports(operation, known, leader, joining)
        storage = opening.connect_storage(operation, known, masters_come, is_needed)
        due = find_due(operation, leader, known, coming)
        cluster = Cluster(known, services.store, leader)
        storage = [*dict.fromkeys([*storage, *cluster.storage(new)])]
        masters, connected = cluster.masters(new), [*dict.fromkeys([leader, *others])]
        successors = cluster.nodes(new)
        operation.run(
            cluster,
            on([leader], UncordonNodes(), ForgetBackup()),
            *groups.prepare(cluster, new, storage, connected if is_told else []),
            *groups.join_nodes(cluster, new, members, storage),
            on([leader] if successors else [], RestoreNodeMetadata(successors), after=()),
            on([leader] if server_comes else [], RegisterVolumes(), after=storage),
            # They may name the address of the storage server.
            on([leader] if server_comes and known.params.addons else [], ApplyAddons(), after=()),
            *groups.serve(cluster, masters, connected),
            *groups.back_up(
                cluster, [*connected, *masters], masters_come, is_server_new=server_comes
            ),
            # After the new control-plane node serves, other nodes may restart their programs.
            *renew_due(cluster, due),
        )
    if masters_come:
        opening.move_helm(known, known.control_plane, vims)
    if request.is_automatic:
        heal_history.note_end(services.store, request.targets, services.clock.time())
