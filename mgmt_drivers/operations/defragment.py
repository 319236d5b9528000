"""Defragment etcd: on request, or in an upgrade that finds etcd's databases near their quota."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.etcd import etcd, upkeep_phases
from mgmt_drivers.cluster.etcd.etcd import HEALTHY, EtcdStatus
from mgmt_drivers.cluster.kubeadm import kubeadm
from mgmt_drivers.engine.operation import Operation
from mgmt_drivers.engine.phase import in_turn, on
from mgmt_drivers.engine.services import Services
from mgmt_drivers.machine.host import Host
from mgmt_drivers.operations import opening
from mgmt_drivers.operations.groups import Works
from mgmt_drivers.request import LcmRequest

LOG = logging.getLogger(__name__)


def defragment(request: LcmRequest, services: Services) -> None:
    """Defragment the members of etcd that answer; a dead one must not keep etcd out of space."""
    known = opening.read_topology(request, services)
    named = replace(request, operation="defragmentation of etcd")
    with opening.open_operation(named, services, known) as operation:
        leader = opening.choose_leader(operation, known, fallback=[kubeadm.check_member])
        masters = operation.connect_to_running(known.control_plane)
        cluster = Cluster(known, services.store, leader)
        status, _ = ask_etcd(operation, cluster)
        operation.run(cluster, *defragment_members(cluster, masters, status))


def ask_etcd(operation: Operation, cluster: Cluster) -> tuple[EtcdStatus, bool]:
    """The status of etcd, and whether an operation that writes much defragments its members."""

    def ask(host: Host) -> tuple[EtcdStatus, bool]:
        status = etcd.read_status(host, cluster)
        return status, upkeep_phases.is_needed(host, status)

    return operation.ask(opening.GATHER, cluster.leader, ask)


def defragment_members(cluster: Cluster, masters: Sequence[Host], status: EtcdStatus) -> Works:
    """Defragment the healthy members on control-plane nodes one after another, the leader last."""
    states = {member.name: status.state(member) for member in status.members}
    healthy = [host for host in masters if states.get(cluster.name(host)) == HEALTHY]
    left_out = [member for member in status.members if status.state(member) != HEALTHY]
    if left_out:
        LOG.warning("members of etcd are not defragmented: %s", status.describe(left_out))
    leaders = {member.name for member in status.members if member.id == status.leader}
    in_order = sorted(healthy, key=lambda host: cluster.name(host) in leaders)
    return [
        on([cluster.leader], upkeep_phases.CompactEtcd()),
        in_turn(in_order, upkeep_phases.DefragmentEtcd()),
        on([cluster.leader], upkeep_phases.EndNoSpace()),
    ]
