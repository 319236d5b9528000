"""The renewal of a cluster's certificates on request, also of those that have expired."""

from dataclasses import replace

from mgmt_drivers.engine.operation import RUNNING_LIMIT
from mgmt_drivers.engine.services import Services
from mgmt_drivers.kube import certificates, kubeadm
from mgmt_drivers.kube.cluster import Cluster, Renewal
from mgmt_drivers.opening import GATHER, choose_leader, open_operation, read
from mgmt_drivers.plans import kubernetes as plans
from mgmt_drivers.request import LcmRequest


def renew(request: LcmRequest, services: Services) -> None:
    """Renew the certificates of all control-plane nodes, which must answer and have joined.

    :raises MgmtDriverError: naming machine, phase and cause; a retry goes on
    """
    found = read(request, services)
    named = replace(request, operation="renewal of certificates")
    with open_operation(named, services, found) as operation:
        # With certificates that have expired no apiserver is ready, nor does kubectl get in.
        leader = choose_leader(operation, found, fallback=[kubeadm.check_member])
        masters = operation.connect(found.control_plane, RUNNING_LIMIT)
        operation.ask_each(GATHER, masters, kubeadm.check_member)
        renewal = Renewal(masters, certificates.ALL)
        cluster = Cluster(found, services.store, masters, leader, renewal=renewal)
        operation.run(plans.RENEW, cluster)
