"""A heal that nobody typed: the machines that answer, and the rails that need no cluster."""

from collections.abc import Sequence

from mgmt_drivers.cluster.self_healing import rails
from mgmt_drivers.cluster.self_healing.rails import NETWORK, UNREACHABLE, holding, refusal
from mgmt_drivers.cluster.topology import Topology
from mgmt_drivers.engine.operation import Operation
from mgmt_drivers.engine.services import Services
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine.host import Host
from mgmt_drivers.request import LcmRequest


def refuse_whole(request: LcmRequest) -> None:
    """:raises MgmtDriverError: if an automatic heal names no VNFC, and would replace the VNF"""
    if request.is_automatic and not request.targets:
        cure = "Report this to Tacker's developers with the conductor's log"
        raise refusal("no VNFC", [], "the request names no VNFC", cure)


def check_before(
    request: LcmRequest, services: Services, known: Topology, targets: Sequence[Node]
) -> None:
    """Check the rails that need no machine.

    :raises MgmtDriverError: naming the rail that holds
    """
    rails.check_times(services.store, known, targets, services.clock.time())
    if all(node in targets for node in known.control_plane):
        raise refusal(
            "quorum",
            targets,
            "no control-plane node of the cluster would be left",
            "If the machines stay dead, heal the whole VNF (a request without vnfcInstanceId) with "
            "restore_from: without restore_from all objects and workloads of the cluster are "
            "deleted",
        )


def reach(operation: Operation, known: Topology, targets: Sequence[Node]) -> list[Host]:
    """Log in to all machines of the VNF that answer.

    :raises MgmtDriverError: if another operation works on a machine, or no machine answers
    """
    with holding(targets, "another operation", "Wait until that operation has ended"):
        reached = operation.connect_to_running(known.machines)  # fails if a machine is locked
    if not reached:
        raise refusal(UNREACHABLE, targets, "no machine of the VNF answers", NETWORK)
    return reached
