"""Register what the storage server exports as PersistentVolumes."""

from collections.abc import Sequence

from mgmt_drivers.engine.phase import Change, Lanes
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import volumes
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.volumes import Volume
from mgmt_drivers.phases.selection import OnLeader


class RegisterVolumes(OnLeader, Change[Cluster, Sequence[Volume]]):
    """The manifests of the package, with the address that the server has."""

    title = "register PersistentVolumes"

    def select(self, cluster: Cluster) -> Lanes:
        return super().select(cluster) if cluster.storage else []

    def look(self, host: Host, cluster: Cluster) -> Sequence[Volume] | None:
        """Those that the cluster lacks."""
        wanted = [volume for server in cluster.storage for volume in volumes.wanted(server)]
        return volumes.missing(host, wanted) or None

    def act(self, host: Host, cluster: Cluster, lacking: Sequence[Volume]) -> None:
        volumes.register(host, lacking)
