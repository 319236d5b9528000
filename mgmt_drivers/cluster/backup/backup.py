"""Backups of etcd: the units that save backups, their store, and the list of backups.

Each control-plane node has a timer, and saves a backup if the newest is older than the interval.
If the storage server keeps the backups, nodes reach it over SSH with an account that can do nothing
else (``backup-store.sh``). Backups hold the keys of the cluster's CAs and all its Secrets: they
must not cross a network in clear text, and NFS would serve them to every machine with the address
of a node. Machines identify each other by their host keys, which the driver has pinned.
"""

import gzip
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from mgmt_drivers import grammar
from mgmt_drivers.cluster.backup.backup_params import BACKUP, LATEST, Backup, Restore
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.cluster_params import KubernetesParams
from mgmt_drivers.cluster.packages.runtime import IN_CONTAINER
from mgmt_drivers.cluster.series import read_version
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine import answers, syntax
from mgmt_drivers.machine.files import STATE_FOLDER, File
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script
from mgmt_drivers.package import BROKEN_ARCHIVE
from mgmt_drivers.ssh.hostkeys import STORE_KEY

TIMER = "tacker-etcd-backup.timer"
SERVICE = "tacker-etcd-backup.service"
SAVE_LIMIT = 900.0  # seconds
_LIST_LIMIT = 90.0  # seconds
_UNITS = "/etc/systemd/system"
_PROGRAM = f"{STATE_FOLDER}/etcd-backup.sh"
_STORE_PROGRAM = f"{STATE_FOLDER}/backup-store.sh"
_ACCOUNT = "etcd-backup"
_HOME = f"{STATE_FOLDER}/etcd-backup-account"
_SAVE, _STORE = Script(__package__, "etcd-backup"), Script(__package__, "backup-store")
_SHOW, _MAKE_ACCOUNT = Script(__package__, "show-backup"), Script(__package__, "backup-account")
# Ticks of the timer in an interval: a tick repeats a backup that has failed.
_TICKS = 4
_SHORTEST_TICK = 60  # seconds
_LARGEST_METADATA = 1 << 16  # bytes
_PIECE = 1 << 20  # bytes
_SERVICE_UNIT = f"""\
[Unit]
Description=Backup of etcd

[Service]
Type=oneshot
ExecStart=/bin/bash {_PROGRAM} save
Nice=19
IOSchedulingClass=idle
TimeoutStartSec={SAVE_LIMIT:g}
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
        File(f"{STATE_FOLDER}/in-container.sh", IN_CONTAINER.text, "0700"),
        File(f"{STATE_FOLDER}/etcd-backup.conf", _settings(host, cluster, backup), "0600"),
        File(f"{_UNITS}/{SERVICE}", _SERVICE_UNIT),
        File(f"{_UNITS}/{TIMER}", _timer_unit(backup.interval)),
    ]
    if backup.is_on_storage_server:
        key = f"{_storage_address(cluster)} {_key_of(_storage_node(cluster), cluster)}\n"
        result.append(File(f"{STATE_FOLDER}/etcd-backup.known_hosts", key))
    return result


def of_storage_server(cluster: Cluster) -> list[File]:
    """The files of the storage server, which give control-plane nodes access to backups."""
    program = syntax.words(_STORE_PROGRAM, _backup(cluster).folder)
    options = f'restrict,command="bash {program}"'
    lines = [
        f"{options} {key} {cluster.topology.name(node)}\n"
        for node in cluster.control_plane
        if (key := cluster.store.load(STORE_KEY, {}).get(node.server_id))
    ]
    return [
        File(_STORE_PROGRAM, _STORE.text, "0755"),
        File(f"{_HOME}/.ssh/authorized_keys", "".join(lines)),
    ]


def make_account(host: Host, cluster: Cluster) -> None:
    """Create the account on the storage server, with the folder of the backups."""
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
        "POD_CIDR": str(cluster.params.pod_cidr),
        "CLUSTER_CIDR": str(cluster.params.service_cidr),
    }
    return "".join(syntax.variable(name, value) for name, value in values.items())


def _backup(cluster: Cluster) -> Backup:
    backup = cluster.params.backup
    assert backup, "phases of backups run on no machine without the parameter"
    return backup


def _storage_node(cluster: Cluster) -> Node:
    assert cluster.topology.storage, "the parameters were checked"
    return cluster.topology.storage.node


def _storage_address(cluster: Cluster) -> str:
    return cluster.topology.endpoint(_storage_node(cluster)).address


def _key_of(node: Node, cluster: Cluster) -> str:
    key: str | None = cluster.store.load(STORE_KEY, {}).get(node.server_id)
    if not key:
        raise MgmtDriverError(
            f"the SSH host key of {node} is not known, since SSH does not reach the machine"
        )
    return key


def save(host: Host) -> None:
    """Save a backup now."""
    host.sudo("bash", _PROGRAM, "save", "now", timeout=SAVE_LIMIT)


def list_names(host: Host) -> list[str]:
    """List the backups that a control-plane node can read, the newest last."""
    return _checked(host.sudo("bash", _PROGRAM, "list", timeout=_LIST_LIMIT))


def find_newest(host: Host) -> tuple[str, datetime] | None:
    """Find the newest backup that a control-plane node can read, and its time; or None."""
    names = list_names(host)
    return (names[-1], time_of(names[-1])) if names else None


def list_on_server(storage: Host, backup: Backup) -> list[str]:
    """List the backups on the storage server, the newest last."""
    return _checked(storage.sudo(*_STORE.command(backup.folder, "list"), timeout=_LIST_LIMIT))


def _checked(listed: str) -> list[str]:
    # Whole lines: half of a secret in an error would not be recognized and masked.
    return [answers.checked(name, BACKUP, "the name of a backup") for name in listed.splitlines()]


def fetch(host: Host, name: str, path: str) -> None:
    """Copy a backup into a file of a control-plane node."""
    host.sudo("bash", _PROGRAM, "read", name, path, timeout=SAVE_LIMIT)


def time_of(name: str) -> datetime:
    """The time at which a backup was saved."""
    text = name.split("-")[1]
    return datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)


def is_of(name: str, node: str) -> bool:
    """Whether a node has saved a backup."""
    return name.endswith(f"-{node}.tar.gz")


def chosen(restore: Restore, listed: list[str]) -> str:
    """The name of the backup to restore.

    :raises MgmtDriverError: if there is no such backup
    """
    if restore.name == LATEST and listed:
        return listed[-1]
    if restore.name not in listed:
        known = ", ".join(listed[-5:]) or "none"
        raise MgmtDriverError(f"there is no backup {restore.name}; the newest are: {known}")
    return restore.name


@dataclass(frozen=True)
class Contents:
    """The metadata of a backup: the apiserver's release, and the cluster's networks."""

    release: str
    pod_cidr: str
    service_cidr: str


def read_contents(host: Host, path: str) -> Contents:
    """Read the metadata of the backup in a file of a machine.

    :raises MgmtDriverError: if the file is not a complete backup
    """
    result = host.ask(*_SHOW.command(path), timeout=SAVE_LIMIT)
    if not result.ok:
        raise MgmtDriverError(f"{path} is not a complete backup: {result.tail}")
    return _read(result.stdout)


def read_contents_of_file(path: Path) -> Contents:
    """Read the metadata of the backup in a file of the VNF package.

    :raises MgmtDriverError: if the file is not a complete backup
    """
    try:
        with gzip.open(path) as whole:
            while whole.read(_PIECE):  # the checksum is at the end
                pass
        with tarfile.open(path, "r:gz") as archive:
            member = archive.extractfile("metadata.json")
            text = member.read(_LARGEST_METADATA).decode() if member else ""
    except BROKEN_ARCHIVE as error:
        raise MgmtDriverError(
            f"{path.name} is not a complete backup: {type(error).__name__}"
        ) from error
    return _read(text)


def _read(text: str) -> Contents:
    try:
        metadata: Mapping[str, Any] = json.loads(text)
        cidrs = [metadata[key] for key in ("pod_cidr", "cluster_cidr")]
        release = answers.checked(metadata["release"], answers.RELEASE, "a release of Kubernetes")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise MgmtDriverError(
            f"the backup's metadata.json cannot be read ({type(error).__name__}). Choose another "
            "backup"
        ) from error
    networks = [grammar.ipv4_network(cidr) if isinstance(cidr, str) else None for cidr in cidrs]
    return Contents(release, *map(str, networks))


def why_not_restorable(contents: Contents, params: KubernetesParams) -> str:
    """The reason why a backup cannot be restored with these parameters; empty if it can."""
    version = read_version(contents.release)
    if version is None or version.series != params.series:
        return (
            f"it is of Kubernetes {contents.release}, and the cluster is to have "
            f"{params.version}: only the same series can read it. Choose another backup, or "
            "instantiate a VNF with the backup's series and restore it there"
        )
    for what, own, theirs in (
        ("pod_cidr", params.pod_cidr, contents.pod_cidr),
        ("cluster_cidr", params.service_cidr, contents.service_cidr),
    ):
        if str(own) != theirs:
            return f"its cluster had the {what} {theirs}, and this one is to have {own}"
    return ""
