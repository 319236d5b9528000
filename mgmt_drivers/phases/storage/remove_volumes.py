"""Take the storage server's PersistentVolumes out of the cluster."""

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import volumes
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase


class RemoveVolumes(Phase[Cluster]):
    """The address of an NFS server cannot be changed in a PersistentVolume."""

    title = "remove the volumes"

    def needed(self, host: Host, context: Cluster) -> bool:
        return host is context.lead and context.storage is not None

    def apply(self, host: Host, context: Cluster) -> None:
        volumes.remove(host, volumes.names(context))
