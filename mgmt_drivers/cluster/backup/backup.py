"""Backups of etcd: the units that save backups, their store, and the list of backups.

Each control-plane node has a timer, and saves a backup if the newest is older than the interval. If
the storage server keeps the backups, nodes reach it over SSH with a key of their own, as an account
that can do nothing else (payload ``backup-store``). The server names the backups by its own clock
and by the key that logged in, so that no node replaces or hides a backup of another node.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from mgmt_drivers.cluster.backup import backup_keys
from mgmt_drivers.cluster.backup.archive import LIMIT, BrokenBackup
from mgmt_drivers.cluster.backup.backup_keys import BackupKeys
from mgmt_drivers.cluster.backup.backup_params import BACKUP, LATEST, Backup, Restore
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.packages.runtime import STATIC_PODS
from mgmt_drivers.errors import BackupError, CommandFailed, ConnectionFailed
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine import answers, files, syntax
from mgmt_drivers.machine.files import STATE_FOLDER, File
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script
from mgmt_drivers.ssh.hostkeys import STORE_KEY, HostKeys
from mgmt_drivers.ssh.session import LIST_OUTPUT

LOG = logging.getLogger(__name__)

TIMER = "tacker-etcd-backup.timer"
SERVICE = "tacker-etcd-backup.service"
_LIST_LIMIT = 90.0  # seconds
_UNREADABLE = 1  # exit status of cat
_MOST_TRIED = 20  # of the newest backups, each of which takes up to LIMIT
_UNITS = "/etc/systemd/system"
_PROGRAM = f"{STATE_FOLDER}/etcd-backup.sh"
_STORE_PROGRAM = f"{STATE_FOLDER}/backup-store.sh"
_ACCOUNT = "etcd-backup"
_HOME = f"{STATE_FOLDER}/etcd-backup-account"
_SAVE, _STORE = Script(__package__, "etcd-backup"), Script(__package__, "backup-store")
_MAKE_ACCOUNT, _MAKE_KEY = Script(__package__, "backup-account"), Script(__package__, "backup-key")
# A timer ticks that often in an interval: a backup that failed is tried again then.
_TICKS = 4
_SHORTEST_TICK = 60  # seconds
_CLOCKS = 600.0  # seconds by which clocks may differ: later names are of a clock that was wrong
_SERVICE_UNIT = f"""\
[Unit]
Description=Backup of etcd

[Service]
Type=oneshot
ExecStart=/bin/bash {_PROGRAM} save
Nice=19
IOSchedulingClass=idle
TimeoutStartSec={LIMIT:g}
"""


def _timer_unit(interval: int) -> str:
    tick = max(interval // _TICKS, _SHORTEST_TICK)
    # Nodes tick at different times: the first saves a backup, and the others find a new one.
    return f"""\
[Timer]
OnActiveSec={_SHORTEST_TICK}
OnUnitActiveSec={tick}
RandomizedDelaySec={tick // _TICKS}
[Install]
WantedBy=timers.target
"""


def of_node(host: Host, cluster: Cluster) -> list[File]:
    """The files of a control-plane node that saves and fetches backups."""
    backup = _backup(cluster)
    result = [
        File(_STORE_PROGRAM, _STORE.text, "0755"),
        File(_PROGRAM, _SAVE.text, "0700"),
        File(f"{STATE_FOLDER}/static-pods.sh", STATIC_PODS.text, "0700"),
        File(f"{STATE_FOLDER}/etcd-backup.conf", _settings(host, cluster, backup), "0600"),
        File(f"{STATE_FOLDER}/etcd-backup.pem", backup_keys.load(cluster.store).current.public),
        File(f"{_UNITS}/{SERVICE}", _SERVICE_UNIT),
        File(f"{_UNITS}/{TIMER}", _timer_unit(backup.interval)),
    ]
    if backup.is_on_storage_server:
        server = cluster.topology.storage_server.node
        key = f"{_storage_address(cluster)} {_key_of(server, cluster)}\n"
        result.append(File(f"{STATE_FOLDER}/etcd-backup.known_hosts", key))
    return result


def of_storage_server(cluster: Cluster) -> list[File]:
    """The files of the storage server, which lets the control-plane nodes in."""
    backup, signers = _backup(cluster), backup_keys.load(cluster.store).signers
    names = [cluster.topology.name(node) for node in cluster.control_plane]
    lines = [
        f'restrict,command="bash {syntax.words(_STORE_PROGRAM, backup.folder, name)} '
        f'{backup.keep}" {signers[name]} {name}\n'
        for name in names
        if name in signers
    ]
    return [
        File(_STORE_PROGRAM, _STORE.text, "0755"),
        File(f"{_HOME}/.ssh/authorized_keys", "".join(lines)),
    ]


def read_key(host: Host, cluster: Cluster) -> str:
    """Read the public half of a node's own key; empty if the node has none."""
    return " ".join(files.read(host, f"{_key_path(host, cluster)}.pub").split()[:2])


def make_key(host: Host, cluster: Cluster) -> str:
    """Make a node's own key, whose private half never leaves the node; returns the public half."""
    told = host.sudo(*_MAKE_KEY.command(_key_path(host, cluster)))
    key = " ".join(told.split()[:2])
    # An error quotes all of it: nobody would find a part of a secret to mask it.
    shown = key if backup_keys.SIGNER.fullmatch(key) else told.strip()
    return answers.checked(shown, backup_keys.SIGNER, "a public ed25519 key")


def _key_path(host: Host, cluster: Cluster) -> str:
    # With the node's name, so that no machine takes a key that its image has brought for its own.
    return f"{STATE_FOLDER}/etcd-backup-{cluster.name(host)}"


def make_account(host: Host, cluster: Cluster) -> None:
    host.sudo(*_MAKE_ACCOUNT.command(_ACCOUNT, _HOME, _backup(cluster).folder))


def _settings(host: Host, cluster: Cluster, backup: Backup) -> str:
    server = f"{_ACCOUNT}@{_storage_address(cluster)}" if backup.is_on_storage_server else ""
    values = {
        "INTERVAL": str(backup.interval),
        "KEEP": str(backup.keep),
        "FOLDER": backup.folder,
        "SERVER": server,
        "RUNTIME": cluster.runtime.service,
        "NODE": cluster.name(host),
        "KEY": backup_keys.load(cluster.store).current.id,
        "POD_CIDR": str(cluster.params.pod_cidr),
        "CLUSTER_CIDR": str(cluster.params.service_cidr),
    }
    return "".join(syntax.variable(name, value) for name, value in values.items())


def _backup(cluster: Cluster) -> Backup:
    backup = cluster.params.backup
    assert backup, "phases of backups run on no machine without the parameter"
    return backup


def _storage_address(cluster: Cluster) -> str:
    return cluster.topology.endpoint(cluster.topology.storage_server.node).address


def _key_of(node: Node, cluster: Cluster) -> str:
    key = HostKeys(cluster.store.load(STORE_KEY, {})).as_dict().get(node.server_id)
    if not key:
        raise ConnectionFailed(
            f"the SSH host key of {node} is not known, since SSH does not reach the machine"
        )
    return key


def save(host: Host) -> None:
    host.sudo("bash", _PROGRAM, "save", "now", timeout=LIMIT)


@dataclass(frozen=True)
class SavedBackup:
    """A backup by its name; ``key`` is the id of its key pair."""

    name: str
    time: datetime
    node: str
    key: str


def list_backups(host: Host) -> list[SavedBackup]:
    """List the backups that a control-plane node sees, the newest last."""
    return _parsed(host.sudo("bash", _PROGRAM, "list", timeout=_LIST_LIMIT, limit=LIST_OUTPUT))


def list_backups_on(storage: Host, backup: Backup) -> list[SavedBackup]:
    command = _STORE.command(backup.folder, "-", str(backup.keep), "list")
    return _parsed(storage.sudo(*command, timeout=_LIST_LIMIT, limit=LIST_OUTPUT))


def _parsed(listed: str) -> list[SavedBackup]:
    """The backups whose names the drivers have made; others are counted in the log."""
    names = listed.splitlines()
    backups = [saved for name in names if (saved := _saved(name))]
    if len(backups) < len(names):
        LOG.warning("%d files among the backups have other names", len(names) - len(backups))
    return sorted(backups, key=lambda saved: (saved.time, saved.name))


def _saved(name: str) -> SavedBackup | None:
    match = BACKUP.fullmatch(name)
    if match is None:
        return None
    try:
        time = datetime.strptime(match["time"], "%Y%m%dT%H%M%SZ")
    except ValueError:
        return None
    return SavedBackup(name, time.replace(tzinfo=timezone.utc), match["node"], match["key"])


def readable(backups: Sequence[SavedBackup], keys: BackupKeys, now: float) -> list[SavedBackup]:
    """The backups of this cluster: of its key pair and its nodes, and not from the future."""
    return [
        saved
        for saved in backups
        if keys.pairs and saved.key == keys.current.id and saved.node in keys.signers
        and saved.time.timestamp() < now + _CLOCKS
    ]


def fetch(host: Host, name: str, path: str) -> None:
    """Copy a backup into a file of a control-plane node.

    :raises BrokenBackup: if the place of the backups answers, but cannot read the backup
    """
    try:
        host.sudo("bash", _PROGRAM, "read", name, path, timeout=LIMIT)
    except CommandFailed as error:
        if error.status != _UNREADABLE:  # ssh has no connection, or somebody ends the program
            raise
        raise BrokenBackup(f"{name} cannot be read: {error.tail}") from error


def find_requested(
    restore: Restore, backups: Sequence[SavedBackup], keys: BackupKeys, now: float
) -> list[SavedBackup]:
    """Find the backup that a request names; of ``latest`` the newest of this cluster, newest first.

    :raises MgmtDriverError: if there is no such backup
    """
    by_name = {saved.name: saved for saved in backups}
    if restore.name in by_name:
        return [by_name[restore.name]]
    own = readable(backups, keys, now) if restore.name == LATEST else []
    if own:
        left_out = [saved.name for saved in backups if saved.time > own[-1].time]
        if left_out:
            LOG.warning(
                "newer than %s, but of another cluster or of the future: %s",
                own[-1].name, ", ".join(left_out),
            )
        return own[: -_MOST_TRIED - 1 : -1]
    known = ", ".join(saved.name for saved in backups[-5:]) or "none"
    raise BackupError(
        f"there is no backup {restore.name} of this cluster; the newest of all are: {known}"
    )
