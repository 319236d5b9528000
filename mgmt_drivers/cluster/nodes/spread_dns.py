"""Cluster DNS that outlives the loss of a node."""

from collections.abc import Mapping, Sequence
from typing import Any

from mgmt_drivers.clock import NotYet
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.nodes import cluster_dns, kubectl
from mgmt_drivers.engine.phase import DEPENDS, Change, Prediction
from mgmt_drivers.machine.host import Host

_LIMIT = 300.0  # seconds


class SpreadDns(Change[Cluster, Sequence[str]]):
    """Have CoreDNS on more than one node.

    kubeadm starts all of its pods when the cluster has one node; when that dies, names are not
    resolved for the five minutes after which Kubernetes gives its pods up. One pod stays and
    answers meanwhile. (Kubernetes' documentation, "Creating Highly Available Clusters with
    kubeadm", restarts them all.)
    """

    title = "spread cluster DNS"
    prediction = Prediction(DEPENDS, "on which nodes its pods are then")

    def look(self, host: Host, cluster: Cluster) -> Sequence[str] | None:
        """The pods that are to go elsewhere."""
        pods = cluster_dns.pods(host)
        places = {pod.node for pod in pods}
        able = [name for name, node in kubectl.nodes(host).items() if _is_able(node)]
        if len(pods) < 2 or len(places) > 1 or not {*able} - places:
            return None
        return [pod.name for pod in pods[1:]]

    def act(self, host: Host, cluster: Cluster, found: Sequence[str]) -> None:
        wanted = len(found) + 1
        cluster_dns.delete(host, found)

        def ready() -> None:
            number = sum(pod.is_ready for pod in cluster_dns.pods(host))
            if number < wanted:
                raise NotYet(f"{number} of {wanted} pods are ready")

        host.clock.until(ready, _LIMIT, "readiness of cluster DNS")


def _is_able(node: Mapping[str, Any]) -> bool:
    return kubectl.is_ready(node) and not node["spec"].get("unschedulable")
