"""Backups of etcd: the store, the timers of nodes, the first and last backup, and a restore."""

import logging
from collections.abc import Sequence

from mgmt_drivers.cluster.backup import backup, backup_keys, restoring
from mgmt_drivers.cluster.backup.backup_params import Restore
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.engine.phase import DEPENDS, Change, Check, HostPhase, Prediction
from mgmt_drivers.engine.trace import CHANGED, CHECKED, UNCHANGED, Outcome
from mgmt_drivers.machine import files, units
from mgmt_drivers.machine.files import File
from mgmt_drivers.machine.host import Host

LOG = logging.getLogger(__name__)


class MakeBackupKey(Change[Cluster, str]):
    """Give a control-plane node a key of its own, and keep the public half with the VNF instance.

    The node signs backups with the key, and logs in to the storage server.
    """

    title = "make the key for backups"

    def look(self, host: Host, cluster: Cluster) -> str | None:
        """The node's name, if its key is not the one that is kept."""
        name = cluster.name(host)
        kept = backup_keys.load(cluster.store).signers.get(name)
        return None if kept and backup.read_key(host, cluster) == kept else name

    def act(self, host: Host, cluster: Cluster, name: str) -> None:
        backup_keys.make_pair(cluster.store)
        staying = [cluster.topology.name(node) for node in cluster.control_plane]
        backup_keys.add_signer(cluster.store, name, backup.make_key(host, cluster), staying)


class PrepareBackupStore(Change[Cluster, Sequence[File]]):
    """Let the storage server keep backups, and the control-plane nodes reach it."""

    title = "prepare the place of backups"

    def look(self, host: Host, cluster: Cluster) -> Sequence[File] | None:
        expected = backup.of_storage_server(cluster)
        return None if files.has_all(host, expected) else expected

    def act(self, host: Host, cluster: Cluster, expected: Sequence[File]) -> None:
        backup.make_account(host, cluster)
        # The file of keys comes last: without it, an attempt was interrupted.
        files.write_all(host, expected)


class ConfigureBackups(Change[Cluster, Sequence[File]]):
    """Let a control-plane node save backups from time to time.

    Control-plane nodes and the storage server need each other's host keys: run this if one is new.
    """

    title = "configure backups of etcd"

    def __init__(self, is_server_new: bool) -> None:
        self._is_server_new = is_server_new

    def predict(self, host: Host, cluster: Cluster) -> Prediction:
        if self._is_server_new and cluster.topology.backup_server:
            return Prediction(CHANGED, "the storage server is new")
        return super().predict(host, cluster)

    def look(self, host: Host, cluster: Cluster) -> Sequence[File] | None:
        expected = backup.of_node(host, cluster)
        return None if units.is_as_configured(host, backup.TIMER, expected) else expected

    def act(self, host: Host, cluster: Cluster, expected: Sequence[File]) -> None:
        backup_keys.note_use(cluster.store)
        units.configure(host, backup.TIMER, expected)


class SaveFirstBackup(HostPhase[Cluster]):
    """Save a backup of a new cluster, or on a new storage server.

    The backup proves that backups can be saved. Nothing is saved if the newest backup is from a
    node of this cluster, and younger than the interval.
    """

    title = "save the first backup of etcd"
    prediction = Prediction(DEPENDS, "on the cluster and the age of the newest backup")

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        keys, now = backup_keys.load(cluster.store), host.clock.time()
        own = backup.readable(backup.list_backups(host), keys, now)
        interval = cluster.params.backup.interval if cluster.params.backup else 0
        names = [cluster.topology.name(node) for node in cluster.control_plane]
        if own and own[-1].node in names and now - own[-1].time.timestamp() < interval:
            return UNCHANGED
        backup.save(host)
        return CHANGED


class SaveBackup(HostPhase[Cluster]):
    """Save a backup of etcd as it is now."""

    title, prediction = "save a backup of etcd", Prediction(CHANGED)

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        backup.save(host)
        return CHANGED


class ShowLastBackup(Check[Cluster]):
    """Log the time of the last good backup, or a warning; never a reason to fail an operation."""

    title = "show the last backup of etcd"

    def check(self, host: Host, cluster: Cluster) -> None:
        try:
            keys = backup_keys.load(cluster.store)
            listed = backup.list_backups(host)
            # A cluster of an earlier version of the drivers has no key pair yet.
            own = backup.readable(listed, keys, host.clock.time()) if keys.pairs else listed
        except Exception as error:  # noqa: BLE001 - machines may answer anything
            # Not its words: outside of a failing step nothing takes secrets out of them.
            LOG.warning("the last good backup of etcd is not known (%s)", type(error).__name__)
            return
        if not own:
            LOG.warning("there is no backup of etcd that Tacker can open")
            return
        newest = own[-1]
        LOG.info(
            "the last good backup of etcd is of %s: %s", newest.time.isoformat(), newest.name
        )
        age = host.clock.time() - newest.time.timestamp()
        if cluster.params.backup and age > 2 * cluster.params.backup.interval:
            LOG.warning(
                "the last good backup of etcd is older than two intervals: look at "
                "`journalctl --unit %s` on the control-plane nodes", backup.SERVICE,
            )


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
