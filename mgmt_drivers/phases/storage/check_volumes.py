"""Refuse to replace a storage server while somebody uses what it exports."""

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import volumes
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Check


class CheckVolumes(Check[Cluster]):
    """Before anything else is done."""

    title = "check that no volume is in use"

    def check(self, host: Host, context: Cluster) -> None:
        if host is not context.lead or not context.storage:
            return
        addresses = context.storage.node.addresses.values()
        try:
            volumes.check_server(host, volumes.names(context), addresses)
        except volumes.InUse as error:
            raise MgmtDriverError(
                "the storage server cannot be healed now, nothing was changed: PersistentVolumes "
                f"on it are in use: {error}. Delete the pods and the claims, and volumes that are "
                "Released, then retry"
            ) from error
