"""The modification of a Kubernetes cluster: request in, another version of Kubernetes out.

Or new certificates: see :mod:`mgmt_drivers.renewal`.
"""

import logging
from collections import defaultdict
from typing import Any

from mgmt_drivers import renewal
from mgmt_drivers.engine.operation import RUNNING_LIMIT
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import MgmtDriverError, OperationError, ParameterError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import changed_params, kubectl, node_packages
from mgmt_drivers.kube.cluster import Cluster, Upgrade
from mgmt_drivers.kube.topology import Topology
from mgmt_drivers.opening import (
    GATHER,
    as_upgraded,
    choose_leader,
    find_renewal,
    open_operation,
    read,
)
from mgmt_drivers.params.kubernetes import NAME as INSTALLATION
from mgmt_drivers.params.kubernetes import read_params
from mgmt_drivers.params.modification import Change, read_modification
from mgmt_drivers.plans import kubernetes as plans
from mgmt_drivers.request import LcmRequest

LOG = logging.getLogger(__name__)


class UpgradeFailed(MgmtDriverError):
    """An upgrade that failed, with its cause and the versions that the nodes have."""

    longest = OperationError.longest


def validate(request: LcmRequest, services: Services, wanted: Any) -> Change:
    """Check what a cluster is to become, without asking any machine.

    :param wanted: the parameter ``k8s_cluster_modification_param``
    :raises ParameterError: with every error
    """
    kept = changed_params.load(services.store)
    before = read_params(changed_params.applied(request, kept))
    found = read_modification(wanted, before, request)
    if found.renews_certificates:
        return found
    after = read_params(changed_params.applied(request, {**kept, **found.params}))
    if not node_packages.can_install_some(after.script):
        text = f"the script must heed {node_packages.PACKAGES}, as the package's own does"
        raise ParameterError([f"{INSTALLATION}.script_path: {text}"])
    return found


def modify(request: LcmRequest, services: Services, wanted: Any) -> None:
    """Make the cluster what a modification wants.

    :param wanted: the parameter ``k8s_cluster_modification_param``
    :raises MgmtDriverError: with the cause; the cluster works, with the versions that it names
    """
    change = validate(request, services, wanted)
    if change.renews_certificates:
        renewal.renew(request, services)
        return
    found = read(request, services, change.params)
    try:
        with open_operation(request, services, found) as operation:
            leader = choose_leader(operation, found)
            found = as_upgraded(operation, found, leader, change.params)
            hosts = operation.connect(found.nodes, RUNNING_LIMIT)
            kept = changed_params.load(services.store)
            upgrade = Upgrade(hosts, {**kept, **change.params}, change.workers_at_once)
            due = find_renewal(operation, found.control_plane)
            cluster = Cluster(found, services.store, hosts, leader, upgrade=upgrade, renewal=due)
            operation.run(plans.UPGRADE, cluster)
    except MgmtDriverError as error:
        raise UpgradeFailed(f"{error}. {_state(request, services, found)}") from error


def _state(request: LcmRequest, services: Services, found: Topology) -> str:
    """What the nodes have, in words; asked anew, for the connection may be what failed."""
    try:
        with open_operation(request, services, found) as operation:
            leader = choose_leader(operation, found)
            return operation.ask(GATHER, leader, _versions)
    except MgmtDriverError as error:
        LOG.warning("the versions of the nodes are not known: %s", error)
        return "Which versions the nodes have is not known, for no control-plane node answers"


def _versions(host: Host) -> str:
    having = defaultdict(list)
    for name, node in sorted(kubectl.nodes(host).items()):
        state = "" if kubectl.is_ready(node) else ", not ready"
        state += ", cordoned" if kubectl.is_cordoned_by_us(node) else ""
        having[kubectl.kubelet_release(node)].append(f"{name}{state and f' ({state[2:]})'}")
    listed = "; ".join(f"{release}: {', '.join(names)}" for release, names in having.items())
    return (
        f"The nodes have now {listed}. The cluster goes on working with these versions: remove "
        "the cause, then retry"
    )
