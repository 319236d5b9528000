"""Learn which masters are members of the control plane already."""

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubeadm
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Check


class SurveyMasters(Check[Cluster]):
    """An operation that is tried again goes on where it stopped."""

    title = "survey the masters"

    def check(self, host: Host, context: Cluster) -> None:
        if host.node in context.masters and kubeadm.is_member(host):
            context.members.add(context.name(host.node))
