"""Renew the certificates of control-plane nodes, and let the programs there use the new ones.

All nodes get their files before any program is restarted: where the old ones have expired, a
member of etcd with a new certificate has no peer that takes part before the others have one, too.
"""

from collections.abc import Sequence

from mgmt_drivers.engine.phase import Change, Forecast, HostPhase, Lanes
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED, Outcome
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import certificates, etcd
from mgmt_drivers.kube.certificates import Certificate, ControlPlaneState
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.control_plane.control_plane import VerifyControlPlane


class _OneAfterAnother:
    """On the control-plane nodes whose certificates are renewed."""

    def select(self, cluster: Cluster) -> Lanes:
        return [cluster.renewing]


class RenewCertificates(_OneAfterAnother, Change[Cluster, Sequence[Certificate]]):
    """Renew the certificates of kubeadm, one control-plane node after another."""

    title = "renew certificates"

    def look(self, host: Host, cluster: Cluster) -> Sequence[Certificate] | None:
        """The certificates that are due."""
        within = cluster.renewal.within if cluster.renewal else 0.0
        return certificates.read(host).due(host.clock.time(), within) or None

    def tell(self, due: Sequence[Certificate]) -> str:
        return ", ".join(certificate.name for certificate in due)

    def act(self, host: Host, cluster: Cluster, due: Sequence[Certificate]) -> None:
        certificates.renew(host, due)


class RestartPrograms(_OneAfterAnother, HostPhase[Cluster]):
    """Restart the programs of the control plane that use older certificates than the disk has.

    One after another, and each control-plane node is verified before the next one, also when an
    attempt before has restarted its programs. Programs that read the new certificates by
    themselves are left alone, as etcd is.
    """

    title = "restart the control plane"

    def foresee(self, host: Host, cluster: Cluster) -> Forecast:
        found, within = certificates.read(host), cluster.renewal.within if cluster.renewal else 0.0
        will_renew = found.due(host.clock.time(), within)
        return Forecast(CHANGED if will_renew or found.unsettled else UNCHANGED)

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        found = certificates.read(host)
        _restart(host, cluster, found)
        VerifyControlPlane().check(host, cluster)
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
    if not cluster.topology.is_balanced:
        return
    found = etcd.census(host, cluster)
    own = [member for member in found.members if member.is_at(cluster.address(host))]
    reason = etcd.refusal(found, own)
    if reason:
        raise MgmtDriverError(f"etcd has to read its new certificate, and must not stop: {reason}")
