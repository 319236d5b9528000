"""Rotate the key by which the apiservers encrypt Secrets in etcd."""

from collections.abc import Sequence
from dataclasses import replace

from mgmt_drivers.cluster.backup.backup_phases import SaveBackup
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.hardening import encryption, rotate_key
from mgmt_drivers.cluster.hardening.encryption import Key
from mgmt_drivers.cluster.upgrade.check_cluster import CheckCluster
from mgmt_drivers.engine.operation import RUNNING_LIMIT
from mgmt_drivers.engine.phase import in_turn, on
from mgmt_drivers.engine.services import Services
from mgmt_drivers.machine.host import Host
from mgmt_drivers.operations import groups, opening
from mgmt_drivers.operations.defragment import ask_etcd
from mgmt_drivers.request import LcmRequest


def rotate(request: LcmRequest, services: Services) -> None:
    """Encrypt all Secrets by a new key; all control-plane nodes must answer."""
    known = opening.read_topology(request, services)
    named = replace(request, operation="rotation of the encryption key")
    with opening.open_operation(named, services, known) as operation:
        leader = opening.choose_leader(operation, known)
        masters = operation.connect(known.control_plane, RUNNING_LIMIT)
        cluster = Cluster(known, services.store, leader)
        etcd, _ = ask_etcd(operation, cluster)
        operation.run(cluster, on([leader], CheckCluster(etcd, is_upgrade=False)))
        # All machines have joined by now: others may lack the file, or have an old one.
        found = operation.ask_each(opening.GATHER, masters, encryption.read_keys)
        newest = encryption.choose_newest(found)
        operation.run(cluster, *_phases(cluster, masters, newest))


def _phases(cluster: Cluster, masters: Sequence[Host], newest: Key) -> groups.Works:
    """A single apiserver needs no key that it does not encrypt by yet."""
    others_read = masters if len(masters) > 1 else []
    leader, restart = [cluster.leader], groups.restart_programs(masters)
    add, lead, remove = rotate_key.steps(newest)
    return [
        in_turn(others_read, add, restart),
        in_turn(masters, lead, restart),
        on(leader, rotate_key.EncryptSecrets()),
        in_turn(masters, remove, restart),
        on(leader if cluster.params.backup else [], SaveBackup()),
    ]
