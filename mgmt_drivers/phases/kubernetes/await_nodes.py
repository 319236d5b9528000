"""Wait until the cluster says that every node is ready."""

from typing import Any

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
        wanted = [context.name(machine) for machine in context.hosts]

        def ready() -> None:
            nodes = kubectl.nodes(host)
            lacking = [f"{name}: {_state(nodes.get(name))}" for name in wanted]
            lacking = [text for text in lacking if not text.endswith(": ready")]
            if lacking:
                raise wait.NotYet("; ".join(lacking))

        wait.until(ready, _LIMIT, "readiness of all nodes")


def _state(node: dict[str, Any] | None) -> str:
    """``ready``, or the cluster's words on why it is not."""
    if node is None:
        return "not in the cluster"
    conditions = {c["type"]: c for c in node["status"].get("conditions", ())}
    ready = conditions.get("Ready", {})
    return "ready" if ready.get("status") == "True" else ready.get("message", "unknown")
