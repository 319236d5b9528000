"""How an operation on a cluster opens: what is known of the cluster, its lock, its leader."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from mgmt_drivers import inventory
from mgmt_drivers.engine.operation import Operation
from mgmt_drivers.engine.services import Services
from mgmt_drivers.host.host import Host
from mgmt_drivers.inventory import Node
from mgmt_drivers.kube import certificates, changed_params, kubeadm
from mgmt_drivers.kube.changed_params import Changed
from mgmt_drivers.kube.cluster import Renewal
from mgmt_drivers.kube.topology import Topology, topology
from mgmt_drivers.package import has_server_group
from mgmt_drivers.params.kubernetes import read_params
from mgmt_drivers.request import LcmRequest

LOG = logging.getLogger(__name__)

GATHER = "gather facts"  # the title under which the trace notes it


def read(request: LcmRequest, services: Services, changed: Changed | None = None) -> Topology:
    """What is known of the cluster before any machine is asked.

    :param changed: parameters to be changed besides those that an upgrade has changed before
    """
    kept = changed_params.load(services.store)
    params = read_params(changed_params.applied(request, {**kept, **(changed or {})}))
    if params.left_alone:
        LOG.info(
            "VNF %s: VDU %s is not set up, for the request has no storage_server",
            request.vnf_instance_id,
            params.left_alone,
        )
    is_spread = has_server_group(request.package, request.flavour)
    machines = inventory.read(request, services.stacks, placed=is_spread)
    return topology(params, machines, is_spread)


def as_upgraded(
    operation: Operation, found: Topology, leader: Host, changed: Changed | None = None
) -> Topology:
    """With the parameters as an upgrade has left them, of which Tacker may know nothing."""
    request, store = operation.request, operation.services.store
    kept = operation.ask(GATHER, leader, changed_params.of_cluster)
    if kept is None or kept == changed_params.load(store):
        return found
    changed_params.save(store, kept)
    params = read_params(changed_params.applied(request, {**kept, **(changed or {})}))
    return replace(found, params=params)


def find_renewal(operation: Operation, nodes: Sequence[Node]) -> Renewal | None:
    """The control-plane nodes that have something to be renewed, of those that answer.

    A renewal by the way holds no operation up: what does not answer is left for another one.
    """
    hosts = operation.connect_to_running(nodes)
    missed = ", ".join(str(n) for n in nodes if n not in [host.node for host in hosts])
    if missed:
        LOG.warning("certificates are not looked at on those that do not answer: %s", missed)
    now = operation.services.clock.time()
    due = []
    for host, state in zip(
        hosts, operation.ask_each(GATHER, hosts, certificates.read), strict=True
    ):
        for worry in state.worries(now):
            LOG.warning("%s: %s, and no operation renews it", host.node, worry)
        if state.needs_renewal(now, certificates.SOON):
            due.append(host)
    return Renewal(due, certificates.SOON) if due else None


def open_operation(request: LcmRequest, services: Services, found: Topology) -> Operation:
    secrets = found.params.secrets()
    return Operation(request, services, found.machines, found.endpoint, secrets)


def choose_leader(
    operation: Operation,
    found: Topology,
    targets: Sequence[Node] = (),
    fallback: Sequence[Callable[[Host], None]] = (),
) -> Host:
    """The control-plane node from which an operation works: none of its targets.

    :param fallback: checks that will do, one after the other, where no node is well
    """
    candidates = [node for node in found.control_plane if node not in targets]
    checks = (kubeadm.check_ready, *fallback)
    return operation.choose("choose a control-plane node", candidates, checks)
