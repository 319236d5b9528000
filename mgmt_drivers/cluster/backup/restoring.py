"""Restoring a backup on the leader: the backup is fetched, checked, and restored before kubeadm.

etcd gets a single member with the data of the snapshot (etcd's documentation, "Disaster recovery").
The PKI of the old cluster is restored, too: without its CAs and its key for signing tokens of
service accounts, its certificates and tokens would not be valid.
"""

from collections.abc import Sequence

from mgmt_drivers.cluster.backup import backup
from mgmt_drivers.cluster.backup.backup_params import Restore
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.packages import images
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.machine import files
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

_ARCHIVE = f"{STATE_FOLDER}/restore.tar.gz"
_WORK = f"{STATE_FOLDER}/restoring"
_RESTORE = Script(__package__, "restore-etcd")
# Programs of etcd's image that restore a snapshot: etcdctl lost it in 3.6 to etcdutl, new in 3.5.
_PROGRAMS = ("etcdutl", "etcdctl")
# Watchers of the API must not get old revisions as new (Kubernetes' documentation, "Operating etcd
# clusters"): revisions continue far above the last revision of the old cluster.
_REVISIONS = ("--bump-revision", "1000000000", "--mark-compacted")


def has_backup(host: Host) -> bool:
    """Ask whether the machine has the backup."""
    return host.ask("test", "-e", _ARCHIVE).ok


def get(host: Host, cluster: Cluster, restore: Restore) -> str:
    """Bring the backup to the machine; returns its name."""
    if restore.file:
        files.write(host, _ARCHIVE, restore.file, "0600")
        return restore.name
    files.write_all(host, backup.of_node(host, cluster))
    name = backup.chosen(restore, backup.list_names(host))
    backup.fetch(host, name, _ARCHIVE)
    return name


def check(host: Host, cluster: Cluster) -> None:
    """:raises MgmtDriverError: if the cluster cannot be restored from the backup"""
    reason = backup.why_not_restorable(backup.read_contents(host, _ARCHIVE), cluster.params)
    if reason:
        raise MgmtDriverError(f"the backup cannot be restored: {reason}")


def forget(host: Host) -> None:
    """Remove the backup, which holds the cluster's secrets, from the machine."""
    host.sudo("rm", "--force", _ARCHIVE)


def command(host: Host, cluster: Cluster) -> Sequence[str]:
    """Prepare the beginning of a command that restores the backup and runs the words after it."""
    host.sudo("mkdir", "--parents", _WORK)
    program = _find_program(host, cluster, images.of_etcd(host, cluster))
    peer = f"https://{cluster.address(host)}:2380"
    arguments = (_ARCHIVE, cluster.name(host), peer, str(len(program)), _WORK)
    return _RESTORE.command(*arguments, *program)


def _find_program(host: Host, cluster: Cluster, image: str) -> Sequence[str]:
    """Find the program in etcd's image that restores a snapshot, with the options that it knows.

    :raises MgmtDriverError: if no program of the image restores snapshots
    """
    tails = []
    for program in _PROGRAMS:
        words = (program, "snapshot", "restore")
        result = host.ask(*cluster.runtime.run_prefix(image, _WORK), *words, "--help")
        if result.ok:
            options = _REVISIONS if _REVISIONS[0] in result.stdout else ()
            return (*cluster.runtime.run_prefix(image, _WORK), *words, *options)
        tails.append(f"{program}: {result.tail}")
    raise MgmtDriverError(f"{image} restores no snapshot. {'. '.join(tails)}")
