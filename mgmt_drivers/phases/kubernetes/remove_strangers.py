"""Remove workers from the cluster that are none of the VNF's machines."""

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl
from mgmt_drivers.kube.cluster import Cluster, is_worker
from mgmt_drivers.phases.phase import Phase


class RemoveStrangers(Phase[Cluster]):
    """Only those with a name of ours: other nodes may have been joined by hand."""

    title = "remove unknown workers"

    def needed(self, host: Host, context: Cluster) -> bool:
        return host is context.lead and bool(_strangers(host, context))

    def apply(self, host: Host, context: Cluster) -> None:
        for name in _strangers(host, context):
            kubectl.delete(host, "node", name)


def _strangers(host: Host, cluster: Cluster) -> list[str]:
    own = {cluster.name(node) for node in cluster.topology.nodes}
    return [name for name in kubectl.nodes(host) if is_worker(name) and name not in own]
