"""Preflight of a heal: refuse to replace a storage server whose exports are in use."""

from mgmt_drivers.engine.phase import Check, Lanes
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import volumes
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.selection import OnLeader


class CheckVolumes(OnLeader, Check[Cluster]):
    """Before anything else is done."""

    title = "check that no volume is in use"

    def select(self, cluster: Cluster) -> Lanes:
        return super().select(cluster) if cluster.storage else []

    def check(self, host: Host, cluster: Cluster) -> None:
        for server in cluster.storage:
            try:
                volumes.check_server(host, volumes.names(server), server.node.addresses.values())
            except volumes.InUse as error:
                raise MgmtDriverError(
                    "the storage server cannot be healed now, nothing was changed: "
                    f"PersistentVolumes on it are in use: {error}. Delete the pods and the "
                    "claims, and volumes that are Released, then retry"
                ) from error
