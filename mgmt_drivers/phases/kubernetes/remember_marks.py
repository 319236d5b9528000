"""Remember how nodes that are to be replaced were marked."""

from typing import Any

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl
from mgmt_drivers.kube.cluster import Cluster, Marks
from mgmt_drivers.kube.placement import without_placement
from mgmt_drivers.phases.phase import Phase

# Taints of Kubernetes' own, which come and go with a node's state.
_OWN_TAINTS = "node.kubernetes.io/"


class RememberMarks(Phase[Cluster]):
    """Leaves labels and taints in the context, by VNFC, for the node that comes in its place."""

    title = "remember labels and taints"

    def needed(self, host: Host, context: Cluster) -> bool:
        return host is context.lead

    def apply(self, host: Host, context: Cluster) -> None:
        nodes = kubectl.nodes(host)
        for machine in context.leaving:
            # One that is gone already was remembered by the attempt that took it away.
            name = context.name(machine)
            if name in nodes:
                found = _marks(name, nodes[name])
                known = context.marks.get(machine.vnfc_id, found)
                context.marks[machine.vnfc_id] = _merged(known, found)


def _merged(known: Marks, found: Marks) -> Marks:
    """A node that came in another's place may be lost before it was marked like that.

    What the same node had at an earlier attempt, somebody may have taken from it since.
    """
    if known.node == found.node:
        return found
    has = {(taint["key"], taint["effect"]) for taint in found.taints}
    more = [taint for taint in known.taints if (taint["key"], taint["effect"]) not in has]
    return Marks({**known.labels, **found.labels}, [*found.taints, *more], found.node)


def _marks(name: str, node: dict[str, Any]) -> Marks:
    taints = node["spec"].get("taints", ())
    return Marks(
        node=name,
        labels=without_placement(node["metadata"].get("labels", {})),
        taints=[
            {key: taint[key] for key in ("key", "value", "effect") if key in taint}
            for taint in taints
            if not taint["key"].startswith(_OWN_TAINTS)
        ],
    )
