"""Check that every control-plane node was reached, when one of them comes."""

from mgmt_drivers.engine.phase import Check, Lanes
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.selection import OnLeader


class CheckAllReached(OnLeader, Check[Cluster]):
    """One that came back later with the old configuration might claim the virtual IP twice.

    Checked only when everything that can be done without it is done.
    """

    title = "check that all control-plane nodes were reached"

    def select(self, cluster: Cluster) -> Lanes:
        return super().select(cluster) if cluster.joining_control_plane else []

    def check(self, host: Host, cluster: Cluster) -> None:
        reached = [machine.node for machine in cluster.hosts]
        missed = ", ".join(str(node) for node in cluster.control_plane if node not in reached)
        if missed:
            raise MgmtDriverError(
                "the new control-plane node is in the cluster, but the load balancers of these "
                f"do not know it yet, for SSH does not reach them: {missed}. The log has the "
                "cause. Retry the operation when they answer; if one has to be healed itself, end "
                "this operation (fail) first"
            )
