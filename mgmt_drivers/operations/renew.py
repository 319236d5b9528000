"""Renew the certificates of nodes: on request, or during another operation."""

import functools
import logging
from collections.abc import Sequence
from dataclasses import replace

from mgmt_drivers.cluster.access.grant_access import RenewKubeconfig
from mgmt_drivers.cluster.certificates import certificates
from mgmt_drivers.cluster.certificates.certificate_phases import (
    RenewCertificates,
    RenewKubeletCertificate,
)
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.kubeadm import kubeadm, kubelet_serving
from mgmt_drivers.cluster.topology import Topology
from mgmt_drivers.engine.operation import RUNNING_LIMIT, Operation
from mgmt_drivers.engine.phase import in_turn, on
from mgmt_drivers.engine.services import Services
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine.host import Host
from mgmt_drivers.operations import groups, opening
from mgmt_drivers.request import LcmRequest

LOG = logging.getLogger(__name__)


def renew(request: LcmRequest, services: Services) -> None:
    """Renew the certificates of all control-plane nodes, which must answer and have joined.

    Workers that answer get a new serving certificate for kubelet, and a new client certificate if
    kubelet has let its own expire.
    """
    known = opening.read_topology(request, services)
    named = replace(request, operation="renewal of certificates")
    with opening.open_operation(named, services, known) as operation:
        # With expired certificates no apiserver is ready, and kubectl cannot log in.
        leader = opening.choose_leader(operation, known, fallback=[kubeadm.check_member])
        masters = operation.connect(known.control_plane, RUNNING_LIMIT)
        operation.ask_each(opening.GATHER, masters, kubeadm.check_member)
        cluster = Cluster(known, services.store, leader)
        workers = _connect_to_answering(operation, known.workers)
        limits = certificates.all_of_kubeadm(cluster), certificates.ALL_SERVING
        operation.run(cluster, *renew_due(cluster, [*masters, *workers], *limits))


def renew_due(
    cluster: Cluster, due: Sequence[Host], within: float = certificates.SOON,
    serving_within: float = certificates.SOON,
) -> groups.Works:
    """Renew the certificates of control-plane nodes, one node after another, then of workers.

    All control-plane nodes get their certificates before any program is restarted: a member of etcd
    with a new certificate reaches no quorum while the certificates of its peers have expired.

    :param within: days; certificates of kubeadm that expire within this time are renewed
    :param serving_within: the same for kubelets' serving certificates
    """
    masters, kubelet = cluster.masters(due), RenewKubeletCertificate(serving_within)
    restart = groups.restart_programs(masters)
    return [
        in_turn(masters, RenewCertificates(within), kubelet, restart),
        on([] if cluster.params.helm else masters, RenewKubeconfig()),
        on(cluster.workers(due), kubelet),
    ]


def find_due(
    operation: Operation, leader: Host, known: Topology, gone: Sequence[Node]
) -> list[Host]:
    """Log in to the control-plane nodes that answer, and find the nodes with certificates to renew.

    The leader asks the kubelets of workers, so that the operation logs in only to workers with a
    certificate to renew. A node that does not answer is left out: a renewal never blocks another
    operation.

    :param gone: machines that come, or are about to leave
    """
    hosts = _connect_to_answering(operation, [n for n in known.control_plane if n not in gone])
    now = operation.services.clock.time()
    due = []
    states = operation.ask_each(opening.GATHER, hosts, certificates.read)
    for host, state in zip(hosts, states, strict=True):
        for warning in state.warnings(now):
            LOG.warning("%s: %s, and no operation renews the certificate", host.node, warning)
        if state.needs_renewal(now, certificates.SOON):
            due.append(host)
    workers = {known.address_of(node): node for node in known.workers if node not in gone}
    ask = functools.partial(kubelet_serving.list_ending, addresses=workers, days=certificates.SOON)
    ending = operation.ask(opening.GATHER, leader, ask) if workers else ()
    return due + _connect_to_answering(operation, [workers[address] for address in ending])


def _connect_to_answering(operation: Operation, nodes: Sequence[Node]) -> list[Host]:
    """Log in to the nodes that answer; a warning names the nodes that do not."""
    hosts = operation.connect_to_running(nodes)
    missed = ", ".join(str(n) for n in nodes if n not in [host.node for host in hosts])
    if missed:
        LOG.warning(
            "the certificates of machines that do not answer are not checked: %s. Heal these "
            "machines if they do not come back", missed,
        )
    return hosts
