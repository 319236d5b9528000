"""Scale in: take nodes out of the cluster before Heat deletes their machines."""

from dataclasses import replace

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.etcd.etcd_phases import (
    CheckEtcdMembers,
    CheckQuorum,
    RemoveOrphanedMembers,
)
from mgmt_drivers.cluster.kubeadm.control_plane_phases import VerifyControlPlane
from mgmt_drivers.cluster.load_balancer.load_balancer_phases import (
    ConfigureLoadBalancer,
    ReleaseVirtualIp,
    VerifyVirtualIp,
)
from mgmt_drivers.cluster.nodes.drain_nodes import DrainNodes, UncordonNodes
from mgmt_drivers.cluster.nodes.metadata_phases import ForgetNodeMetadata
from mgmt_drivers.cluster.storage.nfs_phases import ExportVolumes
from mgmt_drivers.engine.operation import RUNNING_LIMIT
from mgmt_drivers.engine.phase import on
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import InventoryError
from mgmt_drivers.operations import groups, opening
from mgmt_drivers.operations.renew import find_due, renew_due
from mgmt_drivers.operations.targets import check_targets_of_scaling, targets_of
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.vim import Vims

_REFUSED = "the control plane cannot be scaled in now, no node was removed"


def scale_in(request: LcmRequest, services: Services, vims: Vims) -> None:
    """Drain and remove the request's targets, before Heat deletes their machines.

    Targets whose machines Heat has deleted in an earlier attempt were removed in that attempt.
    """
    known = opening.read_topology(request, services)
    if not request.targets:
        raise InventoryError("nothing to scale in: the request removes no VNFC of this VNF")
    gone = {vnfc.id for vnfc in request.vnfcs} - {node.vnfc_id for node in known.machines}
    if request.targets <= gone:
        return
    leaving = targets_of(replace(request, targets=request.targets - gone), known)
    staying = [node for node in known.control_plane if node not in leaving]
    masters_go = check_targets_of_scaling(
        request, known, leaving, len(known.control_plane), len(staying)
    )
    with opening.open_operation(request, services, known) as operation:
        leader = opening.choose_leader(operation, known, leaving)
        cluster = Cluster(known, services.store, leader, leaving=leaving)
        # All must answer: a node that kept the old configuration could claim the virtual IP, too.
        masters = operation.connect(staying, RUNNING_LIMIT) if masters_go else []
        going = operation.connect_to_running(cluster.leaving_control_plane)
        storage = opening.connect_storage(operation, known, masters_change=masters_go)
        due = find_due(operation, leader, known, leaving)
        checking = [leader] if masters_go else []
        operation.run(
            cluster,
            *renew_due(cluster, due),
            on(checking, RemoveOrphanedMembers(), CheckEtcdMembers(staying)),
            on(checking, CheckQuorum(_REFUSED)),
            on([leader], UncordonNodes(), DrainNodes()),
            # Before the leaving apiservers lose etcd.
            on(going, ReleaseVirtualIp()),
            on(masters, ConfigureLoadBalancer()),
            *groups.leave(cluster, going),
            on([leader], ForgetNodeMetadata()),
            on(storage, ExportVolumes()),
            *groups.prepare_backups(cluster, masters, storage),
            on(masters, VerifyControlPlane()),
            on(checking, VerifyVirtualIp()),
            groups.show_last_backup(cluster),
        )
    if masters_go:
        opening.move_helm(known, staying, vims)
