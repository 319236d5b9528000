"""Export folders of the volumes over NFS."""

from mgmt_drivers.host import nfs, packages
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase


class ServeNfs(Phase[Cluster]):
    """Only what lies on a volume that is mounted."""

    title = "serve NFS"

    def needed(self, host: Host, context: Cluster) -> bool:
        if not context.storage or host.node != context.storage.node:
            return False
        return bool(packages.missing(host, [nfs.SERVER_PACKAGE])) or not nfs.is_serving(
            host, _exports(context)
        )

    def apply(self, host: Host, context: Cluster) -> None:
        assert context.params.storage
        packages.install(host, [nfs.SERVER_PACKAGE])
        nfs.serve(host, _exports(context), context.params.storage.folders())


def _exports(cluster: Cluster) -> list[nfs.Export]:
    storage = cluster.params.storage
    assert storage
    return [
        nfs.Export(e.folder, str(e.network), storage.volume_of(e).mount_point)
        for e in storage.exports
    ]
