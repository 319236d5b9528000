"""Make sure that every master that takes part in the cluster was reached."""

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase


class Unreached(MgmtDriverError):
    """A master works but could not be logged in to."""


class MissNoMaster(Phase[Cluster]):
    """One that is out of order may be missing: its own heal will bring it up to date."""

    title = "miss no master"

    def needed(self, host: Host, context: Cluster) -> bool:
        if host is not context.lead or not context.changes_masters:
            return False
        reached = [machine.node for machine in context.hosts]
        nodes = kubectl.nodes(host)
        missed = [
            str(node)
            for node in context.masters
            if node not in reached and kubectl.is_ready(nodes.get(context.name(node)))
        ]
        if missed:
            raise Unreached(
                f"SSH does not reach masters that the cluster holds to be ready: "
                f"{', '.join(missed)}. Their load balancers do not know the new master yet: retry "
                "once they answer"
            )
        return False

    def apply(self, host: Host, context: Cluster) -> None:
        """Nothing is ever to be done."""
