"""The certificates of a node: how long they last, and the renewal of the control plane's.

kubeadm issues them for a year, its CAs for ten (its documentation, "Certificate Management with
kubeadm"). kubeadm renews those that its CAs have signed, and no CA. kubelet renews its client
certificate, as long as the cluster works.

The programs of the control plane read certificates when they start. A marker file, written before
a renewal, tells that they may still use the old ones. etcd reads its certificates anew at each
handshake (its pkg/transport, TLSInfo), and is never restarted.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timezone

from cryptography import x509

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.kubeadm import kubeadm, kubelet_serving
from mgmt_drivers.errors import CertificateError
from mgmt_drivers.machine import files
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

_DAY = 86400.0  # seconds
# An operation renews what expires within a quarter of kubeadm's year: a cluster that is scaled,
# healed or upgraded once in three months never comes near the end.
SOON = 90.0  # days
# A request renews all that is more than a day old: an earlier attempt has renewed the rest. The
# drivers issue kubelets' serving certificates for a year.
ALL_SERVING = 364.0  # days
# With less than that left of a CA, what it signs for a year ends with it.
AUTHORITY_SOON = 365.0  # days
# kubelet's client certificate, which kubelet renews when between a tenth and three tenths of the
# year are left (k8s.io/client-go/util/certificate): less than that, and kubelet could not.
KUBELET_SOON = 30.0  # days

KUBELET, SERVING = "kubelet", "kubelet-serving"
AUTHORITIES = ("ca", "front-proxy-ca", "etcd-ca")
_FOLDER = "/etc/kubernetes"
_PKI = f"{_FOLDER}/pki"
# By path, under the names that kubeadm gives them.
CERTIFICATES = {
    f"{_PKI}/apiserver.crt": "apiserver",
    f"{_PKI}/apiserver-kubelet-client.crt": "apiserver-kubelet-client",
    f"{_PKI}/apiserver-etcd-client.crt": "apiserver-etcd-client",
    f"{_PKI}/front-proxy-client.crt": "front-proxy-client",
    f"{_PKI}/etcd/server.crt": "etcd-server",
    f"{_PKI}/etcd/peer.crt": "etcd-peer",
    f"{_PKI}/etcd/healthcheck-client.crt": "etcd-healthcheck-client",
    f"{_FOLDER}/admin.conf": "admin.conf",
    f"{_FOLDER}/super-admin.conf": "super-admin.conf",
    f"{_FOLDER}/controller-manager.conf": "controller-manager.conf",
    f"{_FOLDER}/scheduler.conf": "scheduler.conf",
    f"{kubelet_serving.PKI}/kubelet-client-current.pem": KUBELET,
    kubelet_serving.CERTIFICATE: SERVING,
    f"{_PKI}/ca.crt": "ca",
    f"{_PKI}/front-proxy-ca.crt": "front-proxy-ca",
    f"{_PKI}/etcd/ca.crt": "etcd-ca",
}
RENEWED = tuple(n for n in CERTIFICATES.values() if n not in (KUBELET, SERVING, *AUTHORITIES))

PENDING = f"{files.STATE_FOLDER}/certificates.pending"
_SHOW = Script(__package__, "show-certificates")


@dataclass(frozen=True)
class Certificate:
    """A certificate and its ``end``, in seconds since the epoch."""

    name: str
    end: float

    def days_left(self, now: float) -> int:
        """Whole days; negative when it has expired."""
        return math.floor((self.end - now) / _DAY)

    def ending(self, now: float) -> str:
        days = self.days_left(now)
        return "has expired" if days < 0 else f"expires in {days} days"


@dataclass(frozen=True)
class NodeState:
    """The certificates of a node, by name; a worker has kubelet's two and the CA's.

    A serving certificate that kubelet has signed itself does not count: nobody verifies it.

    ``is_pending`` tells that a renewal began, and that not all programs have been restarted and
    verified since.
    """

    certificates: Mapping[str, Certificate]
    is_pending: bool

    def due(self, now: float, within: float) -> list[Certificate]:
        """The certificates that kubeadm can renew, and that expire within so many days."""
        return self._ending(dict.fromkeys(RENEWED, within), now)

    def kubelet_due(self, now: float, within: float) -> list[Certificate]:
        """kubelet's certificates that are due: the client's only if kubelet has not renewed it."""
        return self._ending({KUBELET: KUBELET_SOON, SERVING: within}, now)

    def needs_renewal(self, now: float, within: float) -> bool:
        return bool(self.due(now, within) or self.kubelet_due(now, within)) or self.is_pending

    def warnings(self, now: float) -> list[str]:
        """CAs that end soon, which no operation renews."""
        ending = self._ending(dict.fromkeys(AUTHORITIES, AUTHORITY_SOON), now)
        return [f"{authority.name} {authority.ending(now)}" for authority in ending]

    def _ending(self, limits: Mapping[str, float], now: float) -> list[Certificate]:
        """The certificates that end within their limits in days."""
        found = [self.certificates[name] for name in limits if name in self.certificates]
        return [c for c in found if c.end - now < limits[c.name] * _DAY]


def all_of_kubeadm(cluster: Cluster) -> float:
    """Days within which a certificate of kubeadm expires that is more than a day old."""
    fields = cluster.params.cluster_fields
    return ((fields and fields.validity) or 365 * _DAY) / _DAY - 1


def read(host: Host) -> NodeState:
    """Read the certificates of a node; raises MgmtDriverError if a file does not hold one."""
    texts: dict[str, str] = {}
    path = ""
    for line in host.sudo(*_SHOW.command(PENDING, *CERTIFICATES)).splitlines():
        if line == PENDING or line in CERTIFICATES:
            path = line
            texts[path] = ""
        elif path:
            texts[path] += f"{line}\n"
    is_pending = texts.pop(PENDING, None) is not None
    shown = {
        CERTIFICATES[path]: _parse(CERTIFICATES[path], text)
        for path, text in texts.items()
        if text or not path.endswith(".conf")  # which may hold a token in its place
    }
    serving, authority = shown.get(SERVING), shown.get(AUTHORITIES[0])
    if serving and not (authority and serving.issuer == authority.subject):
        del shown[SERVING]
    return NodeState({name: _ending(name, shown[name]) for name in shown}, is_pending)


def read_api_names(host: Host) -> set[str]:
    found = _parse("apiserver", files.read(host, f"{_PKI}/apiserver.crt"))
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = map(str, names.get_values_for_type(x509.IPAddress))
    return {*names.get_values_for_type(x509.DNSName), *addresses}


def renew(host: Host, before: Sequence[Certificate]) -> None:
    """Renew all that kubeadm can renew; programs go on with the certificates that they have."""
    files.write(host, PENDING, "")
    kubeadm.renew_certificates(host)
    after = read(host).certificates
    left = [old.name for old in before if after.get(old.name) in (None, old)]
    if left:
        raise CertificateError(
            f"kubeadm did not renew {', '.join(left)}: if the key of a CA does not lie in "
            "/etc/kubernetes/pki, its owner has to issue them"
        )


def _parse(name: str, pem: str) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(pem.encode())
    except ValueError as error:
        raise CertificateError(
            f"{name} on the machine is not a certificate ({error}): heal the VNFC"
        ) from error


def _ending(name: str, certificate: x509.Certificate) -> Certificate:
    end = getattr(certificate, "not_valid_after_utc", None)  # from 42 on
    end = end or certificate.not_valid_after.replace(tzinfo=timezone.utc)
    return Certificate(name, end.timestamp())
