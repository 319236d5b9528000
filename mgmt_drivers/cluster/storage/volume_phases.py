"""The PersistentVolumes on the storage server."""

from collections.abc import Sequence

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.storage import volumes
from mgmt_drivers.cluster.storage.volumes import Volume
from mgmt_drivers.engine.phase import DEPENDS, Change, Check, NamedChange, Prediction
from mgmt_drivers.errors import VolumeError
from mgmt_drivers.machine.host import Host


class CheckVolumes(Check[Cluster]):
    """Preflight: refuse to replace a storage server whose exports are in use."""

    title = "check that no volume is in use"

    def check(self, host: Host, cluster: Cluster) -> None:
        server = cluster.topology.storage_server
        try:
            volumes.check_server(host, volumes.names(server), server.node.addresses.values())
        except volumes.InUse as error:
            raise VolumeError(
                "the storage server cannot be healed now, nothing was changed: "
                f"PersistentVolumes on the server are in use: {error}. Delete the pods and the "
                "claims, and volumes that are Released, then retry"
            ) from error


class RegisterVolumes(Change[Cluster, Sequence[Volume]]):
    """Register the VNF package's PersistentVolumes, with the storage server's address.

    :param are_restored: PersistentVolumes were restored with a backup: they are kept, bound to
        their claims, unless the server had another address
    """

    title = "register PersistentVolumes"
    prediction = Prediction(DEPENDS, "on the PersistentVolumes that the cluster then has")

    def __init__(self, are_restored: bool = False) -> None:
        self._are_restored = are_restored

    def look(self, host: Host, cluster: Cluster) -> Sequence[Volume] | None:
        expected = volumes.expected(cluster.topology.storage_server)
        return volumes.find_missing(host, expected) or None

    def act(self, host: Host, cluster: Cluster, lacking: Sequence[Volume]) -> None:
        volumes.register(host, lacking, are_restored=self._are_restored)


class RemoveVolumes(NamedChange[Cluster]):
    """Remove the PersistentVolumes, since their server address cannot be changed."""

    title = "remove PersistentVolumes"

    def look(self, host: Host, cluster: Cluster) -> Sequence[str] | None:
        return volumes.find_removable(host, volumes.names(cluster.topology.storage_server)) or None

    def act(self, host: Host, cluster: Cluster, names: Sequence[str]) -> None:
        kubectl.delete(host, "persistentvolume", *names)
