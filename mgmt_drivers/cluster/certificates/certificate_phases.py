"""Renew the certificates of control-plane nodes, and let the programs there use the new ones."""

from collections.abc import Collection, Sequence

from mgmt_drivers.cluster.certificates import certificates
from mgmt_drivers.cluster.certificates.certificates import KUBELET, SERVING, Certificate
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.kubeadm import control_plane, kubeadm, kubeadm_config, kubelet
from mgmt_drivers.engine.phase import DEPENDS, Change, HostPhase, Prediction
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED, Outcome
from mgmt_drivers.machine import files
from mgmt_drivers.machine.host import Host


class _Renewal(Change[Cluster, Sequence[Certificate]]):
    """A renewal of the certificates that expire soon.

    :param within: days; certificates that expire within them are renewed
    """

    def __init__(self, within: float) -> None:
        self._within = within

    def describe(self, due: Sequence[Certificate]) -> str:
        return ", ".join(certificate.name for certificate in due)


class RenewCertificates(_Renewal):
    """Renew the certificates of kubeadm on a control-plane node."""

    title = "renew certificates"

    def look(self, host: Host, cluster: Cluster) -> Sequence[Certificate] | None:
        return certificates.read(host).due(host.clock.time(), self._within) or None

    def act(self, host: Host, cluster: Cluster, due: Sequence[Certificate]) -> None:
        certificates.renew(host, due)


class RenewKubeletCertificate(_Renewal):
    """Renew kubelet's serving certificate, and a client certificate that kubelet has not renewed.

    The kubelets of all control-plane nodes must run before the first node is verified: they start
    the members of etcd.
    """

    title = "renew kubelet's certificate"

    def look(self, host: Host, cluster: Cluster) -> Sequence[Certificate] | None:
        return certificates.read(host).kubelet_due(host.clock.time(), self._within) or None

    def act(self, host: Host, cluster: Cluster, due: Sequence[Certificate]) -> None:
        names = [certificate.name for certificate in due]
        if KUBELET in names:  # without which kubelet does not start
            kubelet.renew_certificate(host, cluster)
        if SERVING in names:
            kubelet.renew_serving_certificate(host, cluster)


class IssueApiCertificate(Change[Cluster, Collection[str]]):
    """Issue the apiserver's certificate for other names than the former ones."""

    title = "issue the apiserver's certificate"

    def __init__(self, former: Collection[str]) -> None:
        self._former = former

    def look(self, host: Host, cluster: Cluster) -> Collection[str] | None:
        found, wanted = certificates.read_api_names(host), {*kubeadm_config.api_names(cluster)}
        return wanted - found | found & {*self._former} - wanted or None

    def act(self, host: Host, cluster: Cluster, differing: Collection[str]) -> None:
        files.write(host, certificates.PENDING, "")
        kubeadm.issue_api_certificate(host, cluster)


class RestartPrograms(HostPhase[Cluster]):
    """Restart the programs of the control plane on a node whose certificates or keys changed.

    Each control-plane node is verified before the next one. A node that was not is restarted again
    by the next attempt: its marker is removed last.
    """

    title = "restart the control plane"
    prediction = Prediction(DEPENDS, "on whether a certificate or a key changes")

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        is_pending = certificates.read(host).is_pending
        if is_pending:
            kubelet.restart(host)
            control_plane.replace_programs(host, cluster)
        control_plane.wait_until_healthy(host, cluster, control_plane.RESTART_LIMIT)
        if is_pending:
            host.sudo("rm", certificates.PENDING)
        return CHANGED if is_pending else UNCHANGED
