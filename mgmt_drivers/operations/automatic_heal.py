"""A heal that nobody typed: the guard rails before it changes anything."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.etcd.etcd_phases import CheckQuorum
from mgmt_drivers.cluster.self_healing import heal_history, rails
from mgmt_drivers.cluster.self_healing.rails import NETWORK, UNREACHABLE, CheckRails, refusal
from mgmt_drivers.cluster.topology import Topology
from mgmt_drivers.engine.operation import Operation
from mgmt_drivers.engine.phase import Check
from mgmt_drivers.engine.services import Services
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine.host import Host
from mgmt_drivers.request import LcmRequest

_REFUSED = "the control-plane node cannot be healed now, nothing was changed"
WHOLE_HEAL = (
    "heal the whole VNF (a request without vnfcInstanceId) with restore_from: without "
    "restore_from all objects and workloads of the cluster are deleted"
)
_NODES_LOST = f"If those nodes are lost for good, {WHOLE_HEAL}"
_NAMELESS = "An automatic heal names no upgrade: send a heal that does"


def refuse_whole(request: LcmRequest) -> None:
    """:raises MgmtDriverError: if an automatic heal names no VNFC, and would replace the VNF"""
    if request.is_automatic and not request.targets:
        cure = "Report this to Tacker's developers with the conductor's log"
        raise refusal("no VNFC", [], "the request names no VNFC", cure)


class Guard:
    """The guard rails of one heal; none holds a heal that somebody typed, or that has passed them.

    A retry of a heal that has passed is not checked again. If the conductor died, the note of that
    is lost; but Tacker learns a server of Heat's only at the end of a heal.
    """

    def __init__(
        self, request: LcmRequest, services: Services, known: Topology, targets: Sequence[Node]
    ) -> None:
        servers = {vnfc.server_id for vnfc in request.vnfcs}
        self._store, self._known, self._targets = services.store, known, targets
        self._old = [node for node in targets if node.server_id in servers]
        self._reached: list[Host] = []
        has_passed = heal_history.has_passed(services.store) or not self._old
        self._is_on = request.is_automatic and not has_passed

    def check_before(self, now: float) -> None:
        """Check the rails that need no machine; ``now`` is in seconds since 1970.

        :raises MgmtDriverError: naming the rail that holds
        """
        if not self._is_on:
            return
        rails.check_times(self._store, self._known, self._targets, now)
        if all(node in self._targets for node in self._known.control_plane):
            raise refusal(
                "quorum",
                self._targets,
                "no control-plane node of the cluster would be left",
                f"If the machines stay dead, {WHOLE_HEAL}",
            )

    def reach(self, operation: Operation) -> None:
        """Log in to all machines of the VNF that answer.

        :raises MgmtDriverError: if another operation works on a machine, or no machine answers
        """
        if not self._is_on:
            return
        cure = "Wait until that operation has ended"
        with rails.holding(self._targets, "another operation", cure):
            # Fails if a machine is locked.
            self._reached = operation.connect_to_running(self._known.machines)
        if not self._reached:
            raise refusal(UNREACHABLE, self._targets, "no machine of the VNF answers", NETWORK)

    def look(self) -> AbstractContextManager[None]:
        """Refuse the heal if a look at the cluster fails."""
        return rails.holding(self._targets) if self._is_on else nullcontext()

    def look_at_release(self) -> AbstractContextManager[None]:
        """Refuse the heal if the cluster's release is not that of the VNF."""
        if not self._is_on:
            return nullcontext()
        return rails.holding(self._targets, rails.HALF_DONE, _NAMELESS)

    def check_quorum(self, lost: Sequence[Node]) -> Check[Cluster]:
        """Give the check that etcd survives the removal of control-plane nodes."""
        if self._is_on:
            return CheckQuorum(rails.held("quorum", lost), f"{_NODES_LOST}. {rails.NEXT}")
        return CheckQuorum(_REFUSED, _NODES_LOST)

    def check_machines(self) -> Sequence[Check[Cluster]]:
        """Give the check of the rails that ask the machines."""
        return [CheckRails(self._targets, self._old, self._reached)] if self._is_on else []

    def note_passed(self) -> None:
        """Remember that the heal has begun."""
        if self._is_on:
            heal_history.note_passed(self._store)
