"""The databases of etcd's members: their quota, and a snapshot."""

import contextlib
import re

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.etcd import etcd
from mgmt_drivers.cluster.etcd.etcd import Database
from mgmt_drivers.cluster.packages.runtime import exec_prefix
from mgmt_drivers.errors import EtcdError, MgmtDriverError
from mgmt_drivers.machine import files
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

DATA = "/var/lib/etcd"  # the same path in the container and on its machine
_SNAPSHOT = "snapshot.db"  # in it, until it is checked
_SNAPSHOT_LIMIT = 300.0  # seconds
# Programs of etcd's image that check a snapshot: etcdctl lost it in 3.6 to etcdutl, new in 3.5.
_CHECKERS = ("etcdutl", "etcdctl")
_MANIFEST = "/etc/kubernetes/manifests/etcd.yaml"
_QUOTA = re.compile(r"--quota-backend-bytes[= ]['\"]?(\d{1,19})")
_DEFAULT_QUOTA = 2 << 30  # bytes
_PREPARE_SNAPSHOT = Script(__package__, "prepare-snapshot")


def read_quota(host: Host, database: Database) -> int:
    """Read the quota of a database in bytes, on a control-plane node if etcd does not tell it."""
    if database.quota:
        return database.quota
    given = _QUOTA.search(files.read(host, _MANIFEST))
    return int(given[1]) if given and int(given[1]) else _DEFAULT_QUOTA


def save_snapshot(host: Host, cluster: Cluster, name: str = "etcd-snapshot") -> str:
    """Save all that etcd holds on the machine's disk, checked; returns the file's path.

    :param name: of the file, less its ending; one of that name is replaced
    :raises MgmtDriverError: if the disk has too little space, or the snapshot is not whole
    """
    inside, kept = f"{DATA}/{_SNAPSHOT}", f"{STATE_FOLDER}/{name}.db"
    host.sudo(*_PREPARE_SNAPSHOT.command(DATA, _SNAPSHOT, STATE_FOLDER))
    words = ("snapshot", "save", inside)
    try:
        etcd.run(host, cluster, etcd.LOCAL, *words, timeout=_SNAPSHOT_LIMIT, tolerated="")
        host.sudo("chmod", "0600", inside)  # it holds the cluster's secrets
        _check_snapshot(host, cluster, inside)
        host.sudo("mv", inside, kept)
    except MgmtDriverError:
        with contextlib.suppress(MgmtDriverError):
            host.sudo("rm", "--force", inside, f"{inside}.part")  # etcd needs the space
        raise
    return kept


def _check_snapshot(host: Host, cluster: Cluster, path: str) -> None:
    """:raises MgmtDriverError: with the words of the program that finds fault with it"""
    tails = []
    for program in _CHECKERS:
        argv = (*exec_prefix(cluster.runtime, cluster.name(host), "etcd"), program)
        seen = host.ask(*argv, "snapshot", "status", path, timeout=_SNAPSHOT_LIMIT)
        if seen.ok:
            return
        tails.append(f"{program}: {seen.tail}")
    raise EtcdError(f"the snapshot of etcd is not whole. {'. '.join(tails)}")
