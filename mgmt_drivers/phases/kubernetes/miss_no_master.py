"""Make sure that every master was reached, when masters come or go."""

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Check


class Unreached(MgmtDriverError):
    """A master could not be logged in to."""


class MissNoMaster(Check[Cluster]):
    """One that came back later with the old configuration might claim the virtual IP twice.

    Asked only when everything that can be done without it is done.
    """

    title = "miss no master"

    def check(self, host: Host, context: Cluster) -> None:
        if host is not context.lead or not context.changes_masters:
            return
        reached = [machine.node for machine in context.hosts]
        missed = ", ".join(str(node) for node in context.masters if node not in reached)
        if missed:
            raise Unreached(
                f"the new master is in the cluster, but the load balancers of these masters do not "
                f"know it yet, for SSH does not reach them: {missed}. The log has the cause. Retry "
                "the operation when they answer; if one has to be healed itself, end this "
                "operation (fail) first"
            )
