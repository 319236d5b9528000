"""The machines that a request targets, checked against the machines of the cluster."""

from collections.abc import Sequence
from dataclasses import replace

from mgmt_drivers.cluster.topology import Topology, check_scaling
from mgmt_drivers.errors import InventoryError, Refused
from mgmt_drivers.inventory import Node
from mgmt_drivers.request import LcmRequest


def without_unmanaged(request: LcmRequest, known: Topology) -> LcmRequest:
    """The request without targets of the VDU that the drivers do not manage."""
    others = {vnfc.id for vnfc in request.vnfcs if vnfc.vdu_id == known.params.unmanaged_vdu}
    return replace(request, targets=request.targets - others)


def targets_of(request: LcmRequest, known: Topology) -> list[Node]:
    """The machines that the request targets, control plane first, the storage server last."""
    if not request.targets:
        raise InventoryError(
            "Tacker has found no new machine. It may have looked before Heat began: give "
            "Heat longer (tacker.conf, [openstack_vim] stack_retry_wait)"
        )
    targets = [node for node in known.machines if node.vnfc_id in request.targets]
    lacking = set(request.targets) - {node.vnfc_id for node in targets}
    if lacking:
        raise InventoryError(f"the VNF does not have the VNFCs {sorted(lacking)} of the request")
    return targets


def check_targets_of_scaling(
    request: LcmRequest, known: Topology, targets: Sequence[Node], before: int, after: int
) -> bool:
    """Check the targets of scaling; returns whether control-plane nodes are among them.

    :raises MgmtDriverError: if these targets cannot be scaled
    """
    if all(node in known.workers for node in targets):
        return False
    if not known.is_ha or any(node not in known.nodes for node in targets):
        raise Refused(
            "only workers can be scaled, and control-plane nodes behind a virtual IP, which this "
            "VNF does not have. Scale the workers, or instantiate a VNF of another flavour"
        )
    check_scaling(request.aspect, before, after)
    return True


def master_vdus(known: Topology) -> set[str]:
    return {node.vdu for node in known.control_plane}
