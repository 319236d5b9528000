"""Make a machine the storage server: volumes, file systems and exports."""

from collections.abc import Sequence

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.storage import disks, nfs
from mgmt_drivers.engine.phase import Change, Check
from mgmt_drivers.errors import VolumeError
from mgmt_drivers.machine.host import Host


class WaitForVolumes(Check[Cluster]):
    """Wait until the machine sees the volumes that Cinder has attached to it."""

    title = "wait for volumes to be attached"

    def check(self, host: Host, cluster: Cluster) -> None:
        for volume_id in cluster.topology.storage_server.volumes.values():
            disks.wait_for(host, volume_id)


Places = Sequence[tuple[str, str]]  # device and mount point of each volume


class MountVolumes(Change[Cluster, Places]):
    """Mount the volumes, now and at each boot; only a blank volume gets a file system."""

    title = "mount volumes"

    def look(self, host: Host, cluster: Cluster) -> Places | None:
        server = cluster.topology.storage_server
        places = [
            (_find_device(host, server.volumes[volume.resource]), volume.mount_point)
            for volume in server.params.volumes
        ]
        return None if all(_is_mounted(host, *place) for place in places) else places

    def act(self, host: Host, cluster: Cluster, places: Places) -> None:
        mounts = [disks.Mount(disks.ensure_ext4(host, device), point) for device, point in places]
        disks.mount_permanently(host, mounts, before=nfs.UNIT)


def _find_device(host: Host, volume_id: str) -> str:
    device = disks.find(host, volume_id)
    if device is None:
        raise VolumeError(
            f"volume {volume_id} is not attached to the machine any more. Attach the volume, then "
            "retry"
        )
    return device


def _is_mounted(host: Host, device: str, point: str) -> bool:
    uuid = disks.read_uuid(host, device)
    return uuid is not None and disks.is_mounted(host, disks.Mount(uuid, point))


class ExportVolumes(Change[Cluster, Sequence[nfs.Export]]):
    """Export folders of mounted volumes over NFS.

    If folders are exported to the nodes instead of a network, exports change with the nodes.
    """

    title = "export volumes over NFS"

    def look(self, host: Host, cluster: Cluster) -> Sequence[nfs.Export] | None:
        storage, is_strict = cluster.topology.storage_server.params, nfs.are_strict(cluster.store)
        exports = [
            nfs.Export(
                e.folder, network, storage.volume_of(e.folder).mount_point,
                is_strict if e.squashes_root is None else e.squashes_root, is_strict,
            )
            for e in storage.exports
            for network in ([str(e.network)] if e.network else _nodes(cluster))
        ]
        return None if nfs.is_serving(host, exports) else exports

    def describe(self, exports: Sequence[nfs.Export]) -> str:
        return ", ".join(dict.fromkeys(export.folder for export in exports))

    def act(self, host: Host, cluster: Cluster, exports: Sequence[nfs.Export]) -> None:
        nfs.serve(host, exports, cluster.topology.storage_server.params.folders())


def _nodes(cluster: Cluster) -> list[str]:
    """The nodes that are not leaving, each as a network."""
    staying = [node for node in cluster.topology.nodes if node not in cluster.leaving]
    return sorted(f"{cluster.topology.address_of(node)}/32" for node in staying)
