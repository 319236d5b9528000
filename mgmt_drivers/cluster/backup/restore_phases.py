"""A cluster that is restored from a backup: the backup, and state that must not be restored."""

from collections.abc import Sequence

from mgmt_drivers.cluster.backup import restoring
from mgmt_drivers.cluster.backup.backup_params import Restore
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.engine.phase import DEPENDS, Change, HostPhase, Prediction
from mgmt_drivers.engine.trace import CHANGED, CHECKED, Outcome
from mgmt_drivers.machine.host import Host


class GetBackup(HostPhase[Cluster]):
    """Bring the backup to the leader, and check that the cluster can be restored from it."""

    title = "get the backup of etcd"
    prediction = Prediction(DEPENDS, "on whether an earlier attempt has got the backup")

    def __init__(self, restore: Restore) -> None:
        self._restore = restore

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        if restoring.has_backup(host):
            return CHECKED
        restoring.fetch(host, cluster, self._restore)
        return CHANGED


class ForgetBackup(Change[Cluster, Sequence[str]]):
    """Remove the backup's copy, which holds the cluster's secrets, from the leader."""

    title = "remove the copy of the backup"

    def look(self, host: Host, cluster: Cluster) -> Sequence[str] | None:
        return () if restoring.has_leftovers(host) else None

    def act(self, host: Host, cluster: Cluster, change: Sequence[str]) -> None:
        restoring.remove(host)
