"""Backups of etcd: where they are kept, who saves them, the first one, and the last one."""

import logging
from collections.abc import Sequence

from mgmt_drivers.cluster.backup import backup, backup_keys
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.engine.phase import DEPENDS, Change, Check, HostPhase, Prediction
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED, Outcome
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
        backup_keys.add_signer(cluster.store, name, backup.make_key(host, cluster))


class PrepareBackupStore(Change[Cluster, Sequence[File]]):
    """Let the storage server keep backups, and the control-plane nodes reach it."""

    title = "prepare the place of backups"

    def look(self, host: Host, cluster: Cluster) -> Sequence[File] | None:
        """The files, where others are there."""
        wanted = backup.of_storage_server(cluster)
        return None if files.have(host, wanted) else wanted

    def act(self, host: Host, cluster: Cluster, wanted: Sequence[File]) -> None:
        backup.make_account(host, cluster)
        # The keys come last, by which an attempt that was broken off is known.
        files.write_all(host, wanted)


class ConfigureBackups(Change[Cluster, Sequence[File]]):
    """Let a control-plane node save backups from time to time.

    Control-plane nodes and the storage server must know each other: run when one of them is new.
    """

    title = "configure backups of etcd"

    def __init__(self, is_server_new: bool) -> None:
        self._is_server_new = is_server_new

    def predict(self, host: Host, cluster: Cluster) -> Prediction:
        if self._is_server_new and cluster.topology.backup_server:
            return Prediction(CHANGED, "the storage server is new")
        return super().predict(host, cluster)

    def look(self, host: Host, cluster: Cluster) -> Sequence[File] | None:
        wanted = backup.of_node(host, cluster)
        return None if units.is_as_configured(host, backup.TIMER, wanted) else wanted

    def act(self, host: Host, cluster: Cluster, wanted: Sequence[File]) -> None:
        units.configure(host, backup.TIMER, wanted)


class SaveFirstBackup(HostPhase[Cluster]):
    """Save a backup of a cluster that is new, or in a new place, if the newest is of another.

    It proves that backups can be saved.
    """

    title = "save the first backup of etcd"
    prediction = Prediction(DEPENDS, "on whether the newest backup is of this cluster")

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        keys = backup_keys.load(cluster.store)
        own = backup.readable(backup.list_backups(host), keys, host.clock.time())
        names = [cluster.topology.name(node) for node in cluster.control_plane]
        if own and own[-1].node in names:
            return UNCHANGED
        backup.save(host)
        return CHANGED


class ShowLastBackup(Check[Cluster]):
    """Log the time of the last good backup, or a warning; never a reason to fail an operation."""

    title = "show the last backup of etcd"

    def check(self, host: Host, cluster: Cluster) -> None:
        try:
            keys = backup_keys.load(cluster.store)
            own = backup.readable(backup.list_backups(host), keys, host.clock.time())
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
