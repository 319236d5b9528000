"""Export folders of the volumes over NFS."""

from collections.abc import Sequence

from mgmt_drivers.engine.phase import Change
from mgmt_drivers.host import nfs
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.selection import OnStorageServer


class ExportVolumes(OnStorageServer, Change[Cluster, Sequence[nfs.Export]]):
    """Only what lies on a volume that is mounted."""

    title = "export volumes over NFS"

    def look(self, host: Host, cluster: Cluster) -> Sequence[nfs.Export] | None:
        storage = cluster.storage_of(host).params
        exports = [
            nfs.Export(e.folder, str(e.network), storage.volume_of(e).mount_point)
            for e in storage.exports
        ]
        return None if nfs.is_serving(host, exports) else exports

    def act(self, host: Host, cluster: Cluster, exports: Sequence[nfs.Export]) -> None:
        nfs.serve(host, exports, cluster.storage_of(host).params.folders())
