"""The PersistentVolumes on the storage server: are they free, take them out, put them in."""

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import volumes
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase


class CheckVolumes(Phase[Cluster]):
    """Read-only, and before anything else is done."""

    title = "check that no volume is in use"

    def needed(self, host: Host, context: Cluster) -> bool:
        if not _is_mine(host, context):
            return False
        try:
            volumes.check_free(host, _names(context))
        except volumes.InUse as error:
            raise MgmtDriverError(
                "the storage server cannot be healed now, nothing was changed: PersistentVolumes "
                f"on it are in use: {error}. Delete the pods and the claims, and volumes that are "
                "Released, then retry"
            ) from error
        return False

    def apply(self, host: Host, context: Cluster) -> None:
        """Nothing is ever to be done."""


class RemoveVolumes(Phase[Cluster]):
    """An NFS server's address cannot be changed in a PersistentVolume."""

    title = "remove the volumes"

    def needed(self, host: Host, context: Cluster) -> bool:
        return _is_mine(host, context)

    def apply(self, host: Host, context: Cluster) -> None:
        volumes.remove(host, _names(context))


class RegisterVolumes(Phase[Cluster]):
    """The manifests of the package, with the address that the server has."""

    title = "register the volumes"

    def needed(self, host: Host, context: Cluster) -> bool:
        return _is_mine(host, context) and bool(volumes.missing(host, _wanted(context)))

    def apply(self, host: Host, context: Cluster) -> None:
        volumes.register(host, volumes.missing(host, _wanted(context)))


def _is_mine(host: Host, cluster: Cluster) -> bool:
    return host is cluster.lead and cluster.storage is not None and bool(_names(cluster))


def _names(cluster: Cluster) -> list[str]:
    storage = cluster.params.storage
    assert storage
    return [v["metadata"]["name"] for m in storage.manifests for v in m.volumes]


def _wanted(cluster: Cluster) -> list[volumes.Volume]:
    storage = cluster.params.storage
    assert storage and cluster.storage
    return [
        volumes.at(volume, cluster.storage.node.address(manifest.server_cp))
        for manifest in storage.manifests
        for volume in manifest.volumes
    ]
