"""Refuse to replace a storage server while somebody uses what it exports."""

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import volumes
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase


class CheckVolumes(Phase[Cluster]):
    """Read-only, and before anything else is done."""

    title = "check that no volume is in use"

    def needed(self, host: Host, context: Cluster) -> bool:
        if host is context.lead and context.storage:
            self._check(host, context)
        return False

    def apply(self, host: Host, context: Cluster) -> None:
        """Nothing is ever to be done."""

    def _check(self, host: Host, context: Cluster) -> None:
        try:
            volumes.check_free(host, volumes.names(context))
        except volumes.InUse as error:
            raise MgmtDriverError(
                "the storage server cannot be healed now, nothing was changed: PersistentVolumes "
                f"on it are in use: {error}. Delete the pods and the claims, and volumes that are "
                "Released, then retry"
            ) from error
