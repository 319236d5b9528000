"""Renew the certificates of control-plane nodes, and let the programs there use the new ones.

All nodes get their files before any program is restarted: where the old ones have expired, a
member of etcd with a new certificate has no peer that takes part before the others have one, too.
"""

from collections.abc import Sequence

from mgmt_drivers.cluster.certificates import certificates
from mgmt_drivers.cluster.certificates.certificates import Certificate, ControlPlaneState
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.etcd import etcd
from mgmt_drivers.cluster.kubeadm import control_plane
from mgmt_drivers.engine.phase import Change, Forecast, HostPhase
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED, Outcome
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.machine.host import Host


class RenewCertificates(Change[Cluster, Sequence[Certificate]]):
    """Renew the certificates of kubeadm on a control-plane node.

    :param within: days; certificates that expire within them are renewed
    """

    title = "renew certificates"

    def __init__(self, within: float) -> None:
        self._within = within

    def look(self, host: Host, cluster: Cluster) -> Sequence[Certificate] | None:
        """The certificates that are due."""
        return certificates.read(host).due(host.clock.time(), self._within) or None

    def tell(self, due: Sequence[Certificate]) -> str:
        return ", ".join(certificate.name for certificate in due)

    def act(self, host: Host, cluster: Cluster, due: Sequence[Certificate]) -> None:
        certificates.renew(host, due)


class RestartPrograms(HostPhase[Cluster]):
    """Restart the programs of the control plane that use older certificates than the disk has.

    Each control-plane node is verified before the next one, also when an attempt before has
    restarted its programs. Programs that read the new certificates by themselves are left alone,
    as etcd is.

    :param within: days, as for :class:`RenewCertificates`
    """

    title = "restart the control plane"

    def __init__(self, within: float) -> None:
        self._within = within

    def foresee(self, host: Host, cluster: Cluster) -> Forecast:
        found = certificates.read(host)
        will_renew = found.due(host.clock.time(), self._within)
        return Forecast(CHANGED if will_renew or found.unsettled else UNCHANGED)

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        found = certificates.read(host)
        _restart(host, cluster, found)
        control_plane.wait_until_healthy(host, cluster)
        return CHANGED if found.unsettled else UNCHANGED


def _restart(host: Host, cluster: Cluster, found: ControlPlaneState) -> None:
    if certificates.ETCD in found.outdated:
        _check_quorum(host, cluster)
    # etcd comes first: without it an apiserver that starts ends again.
    etcd_first = [name for name in found.unsettled if name == certificates.ETCD]
    for programs in (etcd_first, [name for name in found.unsettled if name not in etcd_first]):
        for program in programs:
            if program in found.outdated:
                certificates.restart(host, program)
        if programs:
            # kubelet waits up to five minutes before it starts what has ended before; a kubelet
            # that has just started does not.
            host.sudo("systemctl", "restart", "kubelet")
        for program in programs:
            certificates.wait_until_settled(host, program)


def _check_quorum(host: Host, cluster: Cluster) -> None:
    """:raises MgmtDriverError: when the other members of etcd have no quorum without the node's"""
    if not cluster.topology.is_ha:
        return
    found = etcd.read_status(host, cluster)
    own = [member for member in found.members if member.is_at(cluster.address(host))]
    reason = etcd.why_not_removable(found, own)
    if reason:
        raise MgmtDriverError(f"etcd has to read its new certificate, and must not stop: {reason}")
