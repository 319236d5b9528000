"""Let nodes mount what the storage server exports."""

from mgmt_drivers.host import nfs, packages
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase


class InstallNfsClient(Phase[Cluster]):
    """kubelet mounts PersistentVolumes with the machine's own programs."""

    title = "install the NFS client"

    def needed(self, host: Host, context: Cluster) -> bool:
        if context.params.storage is None:
            return False
        return bool(packages.missing(host, [nfs.CLIENT_PACKAGE]))

    def apply(self, host: Host, context: Cluster) -> None:
        packages.install(host, [nfs.CLIENT_PACKAGE])
