"""Take nodes out of the cluster."""

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase


class RemoveNodes(Phase[Cluster]):
    """On the lead; the machines themselves need not be alive."""

    title = "remove the nodes"

    def needed(self, host: Host, context: Cluster) -> bool:
        return host is context.lead and bool(self._present(host, context))

    def apply(self, host: Host, context: Cluster) -> None:
        for name in self._present(host, context):
            kubectl.delete(host, "node", name)

    def _present(self, host: Host, context: Cluster) -> list[str]:
        nodes = kubectl.nodes(host)
        return [n for n in map(context.name, context.leaving) if n in nodes]
