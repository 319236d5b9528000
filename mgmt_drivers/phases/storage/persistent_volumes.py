"""The PersistentVolumes that lie on the storage server."""

from collections.abc import Sequence

from mgmt_drivers.engine.phase import Change, Check, Forecast
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl, volumes
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.volumes import Volume
from mgmt_drivers.phases.selection import ForStorage


class CheckVolumes(ForStorage, Check[Cluster]):
    """Preflight: refuse to replace a storage server whose exports are in use."""

    title = "check that no volume is in use"

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


class RegisterVolumes(ForStorage, Change[Cluster, Sequence[Volume]]):
    """Register the package's PersistentVolumes, with the address that the server has.

    Those that came back with a backup stay as they are, bound to their claims, unless the server
    had another address.
    """

    title = "register PersistentVolumes"

    def look(self, host: Host, cluster: Cluster) -> Sequence[Volume] | None:
        """Those that the cluster lacks."""
        wanted = [volume for server in cluster.storage for volume in volumes.wanted(server)]
        return volumes.missing(host, wanted) or None

    def foresee(self, host: Host, cluster: Cluster) -> Forecast:
        """All: a heal has removed them before, and a new cluster has none."""
        names = [name for server in cluster.storage for name in volumes.names(server)]
        return Forecast(CHANGED, ", ".join(names)) if names else Forecast(UNCHANGED)

    def act(self, host: Host, cluster: Cluster, lacking: Sequence[Volume]) -> None:
        volumes.register(host, lacking, are_restored=cluster.restore is not None)


class RemoveVolumes(ForStorage, Change[Cluster, Sequence[str]]):
    """Remove the PersistentVolumes, in which the address of a server cannot be changed."""

    title = "remove PersistentVolumes"

    def look(self, host: Host, cluster: Cluster) -> Sequence[str] | None:
        """The names of those that are registered by this driver."""
        names = [name for server in cluster.storage for name in volumes.names(server)]
        return volumes.removable(host, names) or None

    def tell(self, names: Sequence[str]) -> str:
        return ", ".join(names)

    def act(self, host: Host, cluster: Cluster, names: Sequence[str]) -> None:
        kubectl.delete(host, "persistentvolume", *names)
