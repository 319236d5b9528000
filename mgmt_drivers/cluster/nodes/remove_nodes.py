"""Remove nodes from the cluster."""

import logging
from collections.abc import Sequence

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.kubeadm import kubeadm
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.topology import NODE_NAME
from mgmt_drivers.engine.phase import DEPENDS, HostPhase, NamedChange, Prediction
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED, Outcome
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.machine.host import Host

LOG = logging.getLogger(__name__)


class ResetControlPlane(HostPhase[Cluster]):
    """Reset a control-plane node that leaves.

    Its kubelet must not bring a node back that is removed; the machine may stay for a while.
    """

    title = "reset control-plane nodes"
    prediction = Prediction(DEPENDS, "on whether the machine has joined")

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        try:
            if not kubeadm.is_partly_joined(host):
                return UNCHANGED
            kubeadm.reset(host, cluster)
        except MgmtDriverError as error:
            # The machine leaves the cluster in any case.
            LOG.warning("%s is not reset: %s", host.node, error)
            return UNCHANGED
        return CHANGED


class RemoveNodes(NamedChange[Cluster]):
    """Remove the nodes that leave from the cluster; the machines need not be alive."""

    title = "remove nodes"

    def look(self, host: Host, cluster: Cluster) -> Sequence[str] | None:
        nodes = kubectl.list_nodes(host)
        return [n for n in map(cluster.topology.name, cluster.leaving) if n in nodes] or None

    def act(self, host: Host, cluster: Cluster, names: Sequence[str]) -> None:
        kubectl.delete(host, "node", *names)


class RemoveOrphanedNodes(RemoveNodes):
    """Remove orphaned nodes, whose machines do not belong to the VNF any more.

    :param with_masters: control-plane nodes, too: their members of etcd are removed, or were never
        there, as in a cluster that is restored
    """

    title = "remove orphaned nodes"

    def __init__(self, with_masters: bool) -> None:
        self._with_masters = with_masters

    def look(self, host: Host, cluster: Cluster) -> Sequence[str] | None:
        own = set(map(cluster.topology.name, cluster.topology.nodes))
        nodes = filter(NODE_NAME.fullmatch, kubectl.list_nodes(host))
        ours = [n for n in nodes if n.startswith("worker-") or self._with_masters]
        return [name for name in ours if name not in own] or None


class RemoveOldNodes(RemoveOrphanedNodes):
    """Remove the nodes of the old cluster, whose machines are gone, with their pods."""

    title = "remove the old nodes"

    def __init__(self) -> None:
        super().__init__(with_masters=True)

    def act(self, host: Host, cluster: Cluster, names: Sequence[str]) -> None:
        super().act(host, cluster, names)
        # Kubernetes waits for a minute before it takes a pod of a lost node for lost, and until
        # then starts no other in its place: neither CoreDNS nor anything else runs.
        for name in names:
            kubectl.discard_pods(host, name)


class RestartKubeProxy(HostPhase[Cluster]):
    """Let kube-proxy on the leader find the API at this cluster's address.

    kube-proxy may have started before kubeadm replaced its ConfigMap, which had the address of the
    old cluster.
    """

    title = "restart kube-proxy"
    prediction = Prediction(CHANGED)

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        kubectl.delete_pods(host, "kube-system", "k8s-app=kube-proxy", cluster.name(host))
        return CHANGED
