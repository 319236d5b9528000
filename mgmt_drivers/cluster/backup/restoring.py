"""Restoring a backup on the leader: the backup is fetched, checked, and restored before kubeadm.

etcd gets a single member with the data of the snapshot (etcd's documentation, "Disaster recovery").
The PKI of the old cluster is restored, too: without its CAs and its key for signing tokens of
service accounts, its certificates and tokens would not be valid.
"""

import logging
from collections.abc import Callable, Sequence

from mgmt_drivers.cluster import changed_params
from mgmt_drivers.cluster.backup import archive, backup, backup_keys
from mgmt_drivers.cluster.backup.archive import BrokenBackup, Contents
from mgmt_drivers.cluster.backup.backup import SavedBackup
from mgmt_drivers.cluster.backup.backup_keys import BackupKeys
from mgmt_drivers.cluster.backup.backup_params import LATEST, Restore
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.cluster_params import KubernetesParams
from mgmt_drivers.cluster.packages import images
from mgmt_drivers.engine.services import Store
from mgmt_drivers.errors import BackupError
from mgmt_drivers.machine import facts, files
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

LOG = logging.getLogger(__name__)

_SEALED = f"{STATE_FOLDER}/restore.tar"
_ARCHIVE = f"{STATE_FOLDER}/restore.tar.gz"
# Series by which a backup may differ in a heal of the whole VNF: the backup may be from before or
# after an upgrade, of which Tacker may know nothing. kubeadm upgrades by one.
REACH = 1
_NAMED_HOURS = 24.0  # by which a backup's own time may differ from that of its name
_WORK = f"{STATE_FOLDER}/restoring"
_LEFT = (_SEALED, _ARCHIVE, f"{_SEALED}.part", f"{_ARCHIVE}.part", _WORK)
_RESTORE = Script(__package__, "restore-etcd")
# Programs of etcd's image that restore a snapshot: etcdctl lost it in 3.6 to etcdutl, new in 3.5.
_PROGRAMS = ("etcdutl", "etcdctl")
# Watchers of the API must not get old revisions as new (Kubernetes' documentation, "Operating etcd
# clusters"): revisions continue far above the last revision of the old cluster.
_REVISIONS = ("--bump-revision", "1000000000", "--mark-compacted")


def has_backup(host: Host) -> bool:
    return host.ask("test", "-e", _ARCHIVE).ok


def fetch(host: Host, cluster: Cluster, restore: Restore) -> None:
    """Bring, verify and decrypt the backup; raises MgmtDriverError if it cannot be restored."""
    keys = backup_keys.load(cluster.store).joined_with(cluster.params.restore_keys)
    if restore.file:
        files.write(host, _SEALED, restore.file, "0600")
        contents = archive.read(host, _SEALED, keys)
    else:
        files.write_all(host, backup.of_node(host, cluster))

        def fetched(saved: SavedBackup) -> Contents:
            backup.fetch(host, saved.name, _SEALED)
            return archive.read(host, _SEALED, keys)

        backups = backup.list_backups(host)
        contents = choose(restore, backups, keys, host.clock.time(), fetched)
    if reason := archive.why_not_restorable(contents, cluster.params, REACH):
        raise BackupError(f"the backup cannot be restored: {reason}")
    if take_version(cluster.store, cluster.params, contents):
        raise BackupError(
            f"the backup is of {contents.release}, and the machines have {cluster.params.version}: "
            "retry the operation, which gives the machines the version of the backup"
        )
    archive.decrypt(host, _SEALED, contents, _ARCHIVE)


def choose(
    restore: Restore, backups: Sequence[SavedBackup], keys: BackupKeys, now: float,
    read: Callable[[SavedBackup], Contents],
) -> Contents:
    """Choose the backup that a request names, and verify the backup.

    ``latest`` is the newest of this cluster that is neither damaged nor forged, and that was not
    saved while etcd had the alarm CORRUPT.
    """
    left_out = []
    for saved in backup.find_requested(restore, backups, keys, now):
        try:
            contents = read(saved)
            if reason := _why_not_its_name(saved, restore, contents):
                raise BrokenBackup(reason)
            if contents.is_corrupt and restore.name == LATEST:
                raise BrokenBackup("etcd had the alarm CORRUPT. Name the backup to restore it")
        except BrokenBackup as error:
            if restore.name != LATEST:
                raise
            left_out.append(f"{saved.name}: {error}")
            continue
        if left_out:
            LOG.error(
                "%s is the backup to restore, since newer ones cannot be relied on: %s",
                saved.name, "; ".join(left_out),
            )
        return contents
    raise BackupError(
        f"no new backup of this cluster can be relied on: {'; '.join(left_out)}"
    )


def take_version(store: Store, params: KubernetesParams, contents: Contents) -> bool:
    """Keep the version of a backup of another series; returns whether machines get another."""
    changed = changed_params.choose_for_backup(params.version, store, contents.release)
    if changed == changed_params.load(store):
        return False
    changed_params.save(store, changed)
    return True


def _why_not_its_name(saved: SavedBackup, restore: Restore, contents: Contents) -> str:
    """Why a backup is not the one that its name tells; empty if it is.

    A request that names a backup may name one that was saved while a clock was wrong.
    """
    if (saved.node, saved.key) != (contents.node, contents.key):
        return (
            f"{saved.name} was saved by node {contents.node} for the key pair {contents.key}: "
            "somebody renamed it"
        )
    hours = (saved.time.timestamp() - contents.time) / 3600
    if not abs(hours) <= _NAMED_HOURS:
        text = f"{saved.name} was saved {hours:+.1f} hours before the time in its name"
        if restore.name == LATEST:
            return f"{text}: somebody renamed it, or a clock was wrong. Name the backup to restore"
        LOG.warning("%s", text)
    return ""


def has_leftovers(host: Host) -> bool:
    """Whether an earlier attempt, or an operation that was killed, has left a backup."""
    notes = {f"{STATE_FOLDER}/{note}" for note in facts.gather(host).notes}
    return bool({*_LEFT} & notes)


def remove(host: Host) -> None:
    """Remove the backup from the machine: it holds the cluster's secrets."""
    host.sudo("rm", "--recursive", "--force", *_LEFT)


def prepare_command(host: Host, cluster: Cluster) -> Sequence[str]:
    """Prepare the beginning of a command that restores the backup and runs the words after it."""
    host.sudo("mkdir", "--parents", _WORK)
    program = _find_program(host, cluster, images.find_etcd(host, cluster))
    peer = f"https://{cluster.address(host)}:2380"
    arguments = (_ARCHIVE, cluster.name(host), peer, str(len(program)), _WORK)
    return _RESTORE.command(*arguments, *program)


def _find_program(host: Host, cluster: Cluster, image: str) -> Sequence[str]:
    """Find the program in etcd's image that restores a snapshot, with the options that it knows."""
    tails = []
    for program in _PROGRAMS:
        words = (program, "snapshot", "restore")
        result = host.ask(*cluster.runtime.run_prefix(image, _WORK), *words, "--help")
        if result.ok:
            options = _REVISIONS if _REVISIONS[0] in result.stdout else ()
            return (*cluster.runtime.run_prefix(image, _WORK), *words, *options)
        tails.append(f"{program}: {result.tail}")
    raise BackupError(f"{image} restores no snapshot. {'. '.join(tails)}")
