"""Cluster DNS that works, and outlives the loss of a node."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.nodes import cluster_dns, kubectl
from mgmt_drivers.cluster.nodes.cluster_dns import DnsPod
from mgmt_drivers.cluster.nodes.node_params import UNINITIALIZED
from mgmt_drivers.engine.phase import DEPENDS, HostPhase, Prediction
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED, Outcome
from mgmt_drivers.errors import MgmtDriverError, WaitTimeout
from mgmt_drivers.machine.host import Host

_LIMIT = 300.0  # seconds
_TOLERATED = ("node-role.kubernetes.io/", "CriticalAddonsOnly")


class SpreadDns(HostPhase[Cluster]):
    """Run CoreDNS on more than one node, and wait until its pods are ready.

    kubeadm starts all pods of CoreDNS when the cluster has one node. If that node died, no name
    would be resolved for five minutes, until Kubernetes gives the pods up. One pod stays and
    answers meanwhile. (Kubernetes' documentation, "Creating Highly Available Clusters with
    kubeadm", restarts them all.) Pods on nodes that are not ready are not waited for.
    """

    title = "spread cluster DNS"
    prediction = Prediction(DEPENDS, "on which nodes its pods are then")

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        pods = cluster_dns.list_pods(host)
        if not pods:
            return UNCHANGED  # the cluster has no DNS of kubeadm
        nodes = kubectl.list_nodes(host)
        if all(map(_is_uninitialized, nodes.values())):
            return UNCHANGED  # a cloud controller manager, such as an add-on, opens them later
        moving = _to_move(pods, nodes)
        if moving:
            # CoreDNS answers for some seconds when it is told to end: the new ones start beside it.
            kubectl.delete(host, "pod", *moving, namespace=cluster_dns.NAMESPACE, wait=False)
            pods = cluster_dns.list_pods(host)
        ready = [name for name, node in nodes.items() if kubectl.is_ready(node)]
        _wait(host, pods, ready, len(moving) + 1)
        return CHANGED if moving else UNCHANGED


def _to_move(pods: Sequence[DnsPod], nodes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The pods that are to go elsewhere: all but one, if one node has them all."""
    places = {pod.node for pod in pods}
    able = {name for name, node in nodes.items() if _is_able(node)}
    if len(pods) < 2 or len(places) > 1 or "" in places or not able - places:
        return []
    return [pod.name for pod in pods[1:]]


def _wait(host: Host, pods: list[DnsPod], nodes: Collection[str], least: int) -> None:
    """Wait until all pods on the given nodes are ready, and at least a number of pods."""
    for number, _ in enumerate(host.clock.attempts(_LIMIT)):
        if number:
            pods = cluster_dns.list_pods(host)
        lacking = [pod for pod in pods if not pod.is_ready]
        ready = len(pods) - len(lacking)
        if ready >= least and not any(pod.node in nodes for pod in lacking):
            return
    told = "; ".join(_describe(host, pod) for pod in lacking)
    raise WaitTimeout(
        f"cluster DNS: {ready} of {max(least, len(pods))} pods are ready after {_LIMIT:g} s. "
        f"{told}. Remove the cause, then retry the operation"
    )


def _describe(host: Host, pod: DnsPod) -> str:
    try:
        log = kubectl.read_last_line(host, pod.name, cluster_dns.NAMESPACE)
    except MgmtDriverError:  # its container has not begun
        log = ""
    place = f"on node {pod.node}" if pod.node else "on no node"
    return f"{pod.name} {place}: {pod.state}" + (log and f"; the last line of its log: {log}")


def _is_uninitialized(node: Mapping[str, Any]) -> bool:
    taints = node["spec"].get("taints", ())
    return any(taint["key"].startswith(UNINITIALIZED) for taint in taints)


def _is_able(node: Mapping[str, Any]) -> bool:
    """Whether a pod of CoreDNS can come to a node: CoreDNS tolerates the control plane's taints."""
    closed = node["spec"].get("unschedulable") or any(
        taint["effect"] != "PreferNoSchedule" and not taint["key"].startswith(_TOLERATED)
        for taint in node["spec"].get("taints", ())
    )
    return kubectl.is_ready(node) and not closed
