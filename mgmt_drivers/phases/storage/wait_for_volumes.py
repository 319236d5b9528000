"""Wait until the storage server sees the volumes that Cinder has attached to it."""

from mgmt_drivers.engine.phase import Check
from mgmt_drivers.host import disks
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.selection import OnStorageServer


class WaitForVolumes(OnStorageServer, Check[Cluster]):
    """A disk may appear some time after Nova has said so."""

    title = "wait for volumes to be attached"

    def check(self, host: Host, cluster: Cluster) -> None:
        for volume_id in cluster.storage_of(host).volumes.values():
            disks.wait_for(host, volume_id)
