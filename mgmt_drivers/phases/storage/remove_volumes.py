"""Remove the storage server's PersistentVolumes from the cluster."""

from collections.abc import Sequence

from mgmt_drivers.engine.phase import Change, Lanes
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import volumes
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.selection import OnLeader


class RemoveVolumes(OnLeader, Change[Cluster, Sequence[str]]):
    """The address of an NFS server cannot be changed in a PersistentVolume."""

    title = "remove PersistentVolumes"

    def select(self, cluster: Cluster) -> Lanes:
        return super().select(cluster) if cluster.storage else []

    def look(self, host: Host, cluster: Cluster) -> Sequence[str] | None:
        """The names of those that are registered by this driver."""
        names = [name for server in cluster.storage for name in volumes.names(server)]
        return volumes.removable(host, names) or None

    def act(self, host: Host, cluster: Cluster, names: Sequence[str]) -> None:
        volumes.delete(host, names)
