"""Wait until the cluster says that the nodes that joined are ready."""

from collections.abc import Sequence

from mgmt_drivers.clock import NotYet
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.engine.phase import Check
from mgmt_drivers.machine.host import Host

_LIMIT = 300.0  # seconds


class WaitForNodes(Check[Cluster]):
    """Wait until the cluster reports every node that joined as ready."""

    title = "wait for nodes to be ready"

    def __init__(self, joined: Sequence[Host]) -> None:
        self._joined = joined

    def check(self, host: Host, cluster: Cluster) -> None:
        wanted = [cluster.name(node) for node in self._joined]

        def ready() -> None:
            nodes = kubectl.list_nodes(host)
            lacking = [name for name in wanted if not kubectl.is_ready(nodes.get(name))]
            if lacking:
                seen = (f"{name}: {kubectl.state_of(nodes.get(name))}" for name in lacking)
                raise NotYet("; ".join(seen))

        host.clock.until(ready, _LIMIT, "readiness of all nodes")
