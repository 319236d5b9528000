"""Register what the storage server exports as PersistentVolumes."""

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import volumes
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase


class RegisterVolumes(Phase[Cluster]):
    """The manifests of the package, with the address that the server has."""

    title = "register the volumes"

    def needed(self, host: Host, context: Cluster) -> bool:
        if host is not context.lead or not context.storage:
            return False
        return bool(volumes.missing(host, volumes.wanted(context)))

    def apply(self, host: Host, context: Cluster) -> None:
        volumes.register(host, volumes.missing(host, volumes.wanted(context)))
