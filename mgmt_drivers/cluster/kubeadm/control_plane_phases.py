"""Initialize the control plane, and verify the nodes that joined it."""

import logging
from collections.abc import Sequence

from mgmt_drivers.cluster.backup import restoring
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.kubeadm import control_plane, kubeadm, kubelet
from mgmt_drivers.cluster.packages import images
from mgmt_drivers.engine.phase import Check, HostPhase, Prediction
from mgmt_drivers.engine.trace import CHANGED, Outcome
from mgmt_drivers.errors import ConnectionFailed
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

LOG = logging.getLogger(__name__)

_VIP_LIMIT = 60.0  # seconds for a node to take the virtual IP
_SET_CONNTRACK = Script(__package__, "set-conntrack")
_LIST_RULES = ("iptables", "--wait", "--table", "nat", "--list-rules")


class InitializeControlPlane(HostPhase[Cluster]):
    """Make the leader the first control-plane node.

    The data of a backup are laid down by the same command, under the lock of kubeadm, each time
    that it begins anew; never beneath a node that is a member.

    :param is_first: the VNF has not been a cluster before
    """

    title = "initialize the control plane"
    prediction = Prediction(CHANGED)

    def __init__(self, is_first: bool, is_restored: bool = False) -> None:
        self._is_first, self._is_restored = is_first, is_restored

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        if cluster.topology.is_ha:
            _wait_for_virtual_ip(host, cluster)
        with_dns = images.has_dns(host, cluster)
        if not with_dns:
            LOG.warning("the cluster gets no DNS: the image repository has no CoreDNS")
        kubeadm.init(
            host,
            cluster,
            with_dns=with_dns,
            validates=self._is_first,
            sets_conntrack=host.ask(*_SET_CONNTRACK.command()).ok,
            has_iptables=host.ask(*_LIST_RULES).ok,
            before=restoring.prepare_command(host, cluster) if self._is_restored else (),
        )
        return CHANGED


def _wait_for_virtual_ip(host: Host, cluster: Cluster) -> None:
    target = (cluster.topology.address, str(cluster.topology.port))
    what = (
        f"virtual IP {cluster.topology.address} (do the masters' ports allow it in "
        "allowed_address_pairs, and the security group VRRP?)"
    )
    words = ("timeout", "3", *kubelet.REACH.command(*target))
    host.ask_until_ok(*words, within=_VIP_LIMIT, what=what)


class CheckAllReached(Check[Cluster]):
    """See that every control-plane node was reached, when everything else is done.

    One that came back later with the old configuration might claim the virtual IP twice.
    """

    title = "check that all control-plane nodes were reached"

    def __init__(self, reached: Sequence[Host]) -> None:
        self._reached = reached

    def check(self, host: Host, cluster: Cluster) -> None:
        reached = [machine.node for machine in self._reached]
        missed = ", ".join(str(node) for node in cluster.control_plane if node not in reached)
        if missed:
            raise ConnectionFailed(
                "the new control-plane node is in the cluster, but SSH does not reach other "
                "control-plane nodes, whose load balancers do not know the new node yet: "
                f"{missed}. The log has the cause. Retry the operation when these nodes answer; "
                "if one of them has to be healed, end this operation (fail) first"
            )


class VerifyControlPlane(Check[Cluster]):
    """Check that a node is a healthy voter of etcd, and its apiserver ready.

    Another node that is unhealthy does not hold this operation up: its heal comes next.
    """

    title = "verify the control plane"

    def check(self, host: Host, cluster: Cluster) -> None:
        control_plane.wait_until_healthy(host, cluster)
