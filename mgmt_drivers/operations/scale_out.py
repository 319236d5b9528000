"""Scale out: join the new machines, or remove the nodes that a failed attempt has joined."""

import functools
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from mgmt_drivers.cluster.backup.backup_phases import ForgetBackup
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.etcd.etcd_phases import CheckEtcdMembers, RemoveOrphanedMembers
from mgmt_drivers.cluster.load_balancer.load_balancer_phases import (
    ConfigureLoadBalancer,
    ReleaseVirtualIp,
)
from mgmt_drivers.cluster.nodes.drain_nodes import UncordonNodes
from mgmt_drivers.cluster.nodes.remove_nodes import RemoveOrphanedNodes
from mgmt_drivers.cluster.storage.nfs_phases import ExportVolumes
from mgmt_drivers.cluster.topology import Topology, check_scaling
from mgmt_drivers.engine.operation import RUNNING_LIMIT
from mgmt_drivers.engine.phase import on
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import Locked, text_of
from mgmt_drivers.inventory import Node
from mgmt_drivers.operations import groups, opening
from mgmt_drivers.operations.renew import find_due, renew_due
from mgmt_drivers.operations.targets import check_targets_of_scaling, master_vdus, targets_of
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.vim import Vims

LOG = logging.getLogger(__name__)


def check_scale_out(request: LcmRequest, services: Services, coming: Mapping[str, int]) -> None:
    """Check a scale-out before its machines exist.

    :param coming: number of new machines, by VDU
    :raises MgmtDriverError: if the number of etcd's members would be even
    """
    known = opening.read_topology(request, services)
    masters = sum(coming.get(vdu, 0) for vdu in master_vdus(known))
    if masters:
        present = len(known.control_plane)
        check_scaling(request.aspect, present, present + masters)


def scale_out(request: LcmRequest, services: Services, vims: Vims) -> None:
    """Join the new machines, which are the request's targets.

    A scale-out that fails removes its nodes from the cluster again, so that the operation can be
    repeated, or Heat can delete the machines.
    """
    known = opening.read_topology(request, services)
    coming = targets_of(request, known)
    staying = [node for node in known.control_plane if node not in coming]
    masters_come = check_targets_of_scaling(
        request, known, coming, len(staying), len(known.control_plane)
    )
    undo = functools.partial(
        _undo, request, services, known, coming, staying if masters_come else []
    )
    with _undone_if_it_fails(undo), opening.open_operation(request, services, known) as operation:
        leader = opening.choose_leader(operation, known, coming)
        known = opening.read_upgraded(operation, known, leader)
        others = operation.connect(staying, RUNNING_LIMIT) if masters_come else []
        new = opening.connect_to_new(operation, known, coming)
        marked = opening.read_markers(operation, known, new)
        members = opening.find_members(operation, known, leader, marked)
        if masters_come:
            opening.check_helm_login(operation, known, new, vims)
        storage = opening.connect_storage(operation, known, masters_come, is_needed=True)
        due = find_due(operation, leader, known, coming)
        cluster = Cluster(known, services.store, leader)
        masters, connected = cluster.masters(new), [*dict.fromkeys([leader, *others])]
        operation.run(
            cluster,
            *renew_due(cluster, due),
            on([leader] if masters else [], RemoveOrphanedMembers()),
            on([leader], CheckEtcdMembers(staying if masters else ())),
            on([leader], UncordonNodes(), ForgetBackup()),
            *groups.prepare(cluster, new, storage, connected if masters else []),
            *groups.join_nodes(cluster, new, members, storage),
            *groups.serve(cluster, masters, connected),
            *groups.back_up(cluster, [*connected, *masters], are_new=bool(masters)),
        )
    if masters_come:
        opening.move_helm(known, known.control_plane, vims)


@contextmanager
def _undone_if_it_fails(undo: Callable[[], None]) -> Iterator[None]:
    """Undo a scale-out that fails with any error but a lock."""
    try:
        yield
    except Exception as failure:
        if isinstance(failure.__cause__, Locked):
            raise  # nothing was changed, and the other operation may be joining the nodes
        try:
            undo()
        except Exception as error:  # noqa: BLE001 - must not hide why the scale-out failed
            LOG.warning("nodes of the failed scale-out may be left: %s", text_of(error))
        raise


def _undo(
    request: LcmRequest,
    services: Services,
    known: Topology,
    coming: Sequence[Node],
    staying: Sequence[Node],
) -> None:
    """Remove the nodes that a failed scale-out has joined.

    The most important phases run first, since the undo may fail for the same cause.

    :param staying: the other control-plane nodes, if control-plane nodes are among the new ones
    """
    with opening.open_operation(request, services, known) as operation:
        leader = opening.choose_leader(operation, known, coming)
        others = operation.connect_to_running(staying)
        cluster = Cluster(known, services.store, leader, leaving=coming)
        going = operation.connect_to_running(cluster.leaving_control_plane)
        operation.run(
            cluster,
            on(going, ReleaseVirtualIp()),
            *groups.leave(cluster, going),
            on([*dict.fromkeys([leader, *others])] if staying else [], ConfigureLoadBalancer()),
        )


def begin_roll_back(request: LcmRequest, services: Services, came: Collection[str]) -> None:
    """Remove control-plane nodes of a failed scale-out, before Heat deletes their machines.

    Usually the scale-out has removed them itself. A deleted member of etcd would still count for
    the quorum; workers need no removal before the deletion.
    """
    if master_vdus(opening.read_topology(request, services)) & {*came}:
        roll_back_scale_out(request, services, came)


def roll_back_scale_out(
    request: LcmRequest, services: Services, came: Collection[str] = ()
) -> None:
    """Remove the nodes of a failed scale-out whose machines do not belong to the VNF."""
    known = opening.read_topology(request, services)
    masters_came = bool(master_vdus(known) & {*came})
    with opening.open_operation(request, services, known) as operation:
        leader = opening.choose_leader(operation, known)
        masters = operation.connect_to_running(known.control_plane) if masters_came else []
        storage = opening.connect_storage(operation, known, masters_change=False)
        operation.run(
            Cluster(known, services.store, leader),
            on([leader] if masters_came else [], RemoveOrphanedMembers()),
            on([leader], RemoveOrphanedNodes(with_masters=masters_came)),
            on(masters, ConfigureLoadBalancer()),
            on(storage, ExportVolumes()),
        )
