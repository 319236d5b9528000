"""Mount the storage server's volumes, for good."""

from collections.abc import Iterator

from mgmt_drivers.host import disks, nfs
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase


class MountVolumes(Phase[Cluster]):
    """A blank volume gets a file system; one that comes back with data keeps it."""

    title = "mount the volumes"

    def needed(self, host: Host, context: Cluster) -> bool:
        if not context.storage or host.node != context.storage.node:
            return False
        for device, point in _places(host, context):
            uuid = disks.uuid_of(host, device)
            if uuid is None or not disks.is_mounted(host, disks.Mount(uuid, point)):
                return True
        return False

    def apply(self, host: Host, context: Cluster) -> None:
        places = list(_places(host, context))
        mounts = [disks.Mount(disks.ensure_ext4(host, device), point) for device, point in places]
        disks.mount_for_good(host, mounts, before=nfs.UNIT)


def _places(host: Host, cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Device and mount point of each volume."""
    assert cluster.storage and cluster.params.storage
    for volume in cluster.params.storage.volumes:
        volume_id = cluster.storage.volumes[volume.resource]
        yield disks.find(host, volume_id), volume.mount_point
