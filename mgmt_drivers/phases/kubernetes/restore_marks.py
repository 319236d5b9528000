"""Mark the nodes that came in the place of others as those were."""

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase


class RestoreMarks(Phase[Cluster]):
    """What the new node has of itself, such as its host's name, stays as it is."""

    title = "restore labels and taints"

    def needed(self, host: Host, context: Cluster) -> bool:
        joined = {node.vnfc_id for node in context.joining}
        return host is context.lead and bool(joined & set(context.marks))

    def apply(self, host: Host, context: Cluster) -> None:
        nodes = kubectl.nodes(host)
        for machine in context.joining:
            marks = context.marks.get(machine.vnfc_id)
            if not marks:
                continue
            name = context.name(machine)
            has = nodes[name]
            labels = has["metadata"].get("labels", {})
            lacking = {key: value for key, value in marks.labels.items() if key not in labels}
            if lacking:
                kubectl.label(host, name, lacking)
            kinds = {(t["key"], t["effect"]) for t in has["spec"].get("taints", ())}
            for taint in marks.taints:
                if (taint["key"], taint["effect"]) not in kinds:
                    kubectl.taint(host, name, taint)
