"""A cluster that is made of a backup: the backup, and what must not come back with it."""

from collections.abc import Mapping, Sequence

from mgmt_drivers.engine.phase import Change, Forecast, HostPhase
from mgmt_drivers.engine.trace import CHANGED, CHECKED, Outcome
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import changed_params, kubectl, node_metadata, restoring
from mgmt_drivers.kube.changed_params import Changed
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.node_metadata import NodeMetadata
from mgmt_drivers.params.backup import Restore
from mgmt_drivers.phases.nodes.node_metadata import RestoreNodeMetadata
from mgmt_drivers.phases.nodes.remove_nodes import RemoveOrphanedNodes


class GetBackup(HostPhase[Cluster]):
    """Bring the backup to the leader, and check that the cluster can be made of it."""

    title = "get the backup of etcd"

    def __init__(self, restore: Restore) -> None:
        self._restore = restore

    def foresee(self, host: Host, cluster: Cluster) -> Forecast:
        return Forecast(CHECKED if restoring.is_there(host) else CHANGED)

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        outcome: Outcome = CHECKED
        if not restoring.is_there(host):
            restoring.get(host, cluster, self._restore)
            outcome = CHANGED
        restoring.check(host, cluster)
        return outcome


class KeepNodeMetadata(Change[Cluster, Mapping[str, NodeMetadata]]):
    """Keep labels and taints of the old nodes, for the machines that came in their place."""

    title = "keep labels and taints of the old nodes"

    def look(self, host: Host, cluster: Cluster) -> Mapping[str, NodeMetadata] | None:
        nodes = kubectl.nodes(host)
        saved = node_metadata.load(cluster.store)
        own = set(map(cluster.topology.name, cluster.topology.nodes))
        old = node_metadata.replaced(cluster.store).items()
        found = {v: node_metadata.of(nodes[n]) for n, v in old if n in nodes.keys() - own}
        wanted = {**saved, **found}
        return wanted if wanted != saved else None

    def act(self, host: Host, cluster: Cluster, found: Mapping[str, NodeMetadata]) -> None:
        node_metadata.save(cluster.store, found)


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
    """Have kube-proxy on the leader find the API at this cluster's address.

    It may have started before kubeadm replaced its ConfigMap, which had the old cluster's.
    """

    title = "restart kube-proxy"

    def foresee(self, host: Host, cluster: Cluster) -> Forecast:
        return Forecast(CHANGED)

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        kubectl.delete_pods(host, "kube-system", "k8s-app=kube-proxy", cluster.name(host))
        return CHANGED


class KeepOwnVersion(Change[Cluster, Changed]):
    """Let the cluster keep this VNF's version, and no longer that of the backup's time."""

    title = "keep this VNF's version"

    def look(self, host: Host, cluster: Cluster) -> Changed | None:
        own, kept = changed_params.load(cluster.store), changed_params.of_cluster(host)
        return None if kept is None or kept == own else own

    def act(self, host: Host, cluster: Cluster, own: Changed) -> None:
        changed_params.keep(host, cluster.store, own)


class RestoreOldMetadata(RestoreNodeMetadata):
    """Give the new nodes the labels and taints of those whose place they have taken."""


class ForgetBackup(Change[Cluster, Sequence[str]]):
    """Remove the backup's copy, which holds the cluster's secrets, from the leader."""

    title = "remove the copy of the backup"

    def look(self, host: Host, cluster: Cluster) -> Sequence[str] | None:
        return () if restoring.is_there(host) else None

    def act(self, host: Host, cluster: Cluster, found: Sequence[str]) -> None:
        restoring.forget(host)
