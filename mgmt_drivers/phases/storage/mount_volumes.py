"""Mount the storage server's volumes, now and at each boot."""

from collections.abc import Sequence

from mgmt_drivers.engine.phase import Change
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host import disks, nfs
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.selection import OnStorageServer

Places = Sequence[tuple[str, str]]  # device and mount point of each volume


class MountVolumes(OnStorageServer, Change[Cluster, Places]):
    """A blank volume gets a file system; one that comes back with data keeps it."""

    title = "mount volumes"

    def look(self, host: Host, cluster: Cluster) -> Places | None:
        """All volumes, where any of them is not mounted."""
        server = cluster.storage_of(host)
        places = [
            (_device(host, server.volumes[volume.resource]), volume.mount_point)
            for volume in server.params.volumes
        ]
        return None if all(_is_mounted(host, *place) for place in places) else places

    def act(self, host: Host, cluster: Cluster, places: Places) -> None:
        mounts = [disks.Mount(disks.ensure_ext4(host, device), point) for device, point in places]
        disks.mount_permanently(host, mounts, before=nfs.UNIT)


def _device(host: Host, volume_id: str) -> str:
    device = disks.find(host, volume_id)
    if device is None:
        raise MgmtDriverError(f"the disk of volume {volume_id} has vanished")
    return device


def _is_mounted(host: Host, device: str, point: str) -> bool:
    uuid = disks.uuid_of(host, device)
    return uuid is not None and disks.is_mounted(host, disks.Mount(uuid, point))
