"""Wait until the cluster says that the nodes that joined are ready."""

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase
from mgmt_drivers.ssh import wait

_LIMIT = 300.0  # seconds


class AwaitNodes(Phase[Cluster]):
    """Asked once for all nodes, on the lead."""

    title = "await the nodes"

    def needed(self, host: Host, context: Cluster) -> bool:
        return host is context.lead

    def apply(self, host: Host, context: Cluster) -> None:
        wanted = [context.name(node) for node in context.joining]

        def ready() -> None:
            nodes = kubectl.nodes(host)
            lacking = [name for name in wanted if not kubectl.is_ready(nodes.get(name))]
            if lacking:
                seen = (f"{name}: {kubectl.state_of(nodes.get(name))}" for name in lacking)
                raise wait.NotYet("; ".join(seen))

        wait.until(ready, _LIMIT, "readiness of all nodes")
