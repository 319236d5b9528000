"""Certificates of nodes: read, and issued anew with another end."""

import base64
import datetime
import re
from collections.abc import Iterable, Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from tools.client import wait
from tools.client.machines import KUBECTL, Remote

_PKI = "/etc/kubernetes/pki"
# Files of kubelet, with their keys: for those who ask kubelet, and of kubelet as it asks the API.
_SERVING = "/var/lib/kubelet/pki/kubelet.crt"
_KUBELET = "/var/lib/kubelet/pki/kubelet-client-current.pem"
# Certificates and kubeconfigs, by the CA that has signed them. Each keeps its key.
_SIGNED = {
    f"{_PKI}/ca": (
        f"{_PKI}/apiserver.crt", f"{_PKI}/apiserver-kubelet-client.crt",
        "/etc/kubernetes/admin.conf", "/etc/kubernetes/super-admin.conf",
        "/etc/kubernetes/controller-manager.conf", "/etc/kubernetes/scheduler.conf", _SERVING,
        _KUBELET,
    ),
    f"{_PKI}/front-proxy-ca": (f"{_PKI}/front-proxy-client.crt",),
    f"{_PKI}/etcd/ca": (
        f"{_PKI}/apiserver-etcd-client.crt", f"{_PKI}/etcd/server.crt",
        f"{_PKI}/etcd/peer.crt", f"{_PKI}/etcd/healthcheck-client.crt",
    ),
}  # fmt: skip
_READY = f"{KUBECTL} --server https://127.0.0.1:6443 --tls-server-name kubernetes get --raw /readyz"
_EMBEDDED = re.compile(r"(?<=client-certificate-data: )[A-Za-z0-9+/=]+")
_BLOCK = re.compile("-----BEGIN CERTIFICATE-----.*-----END CERTIFICATE-----\n", re.DOTALL)
# etcd reads its certificates anew at each connection. A kubelet that has just started starts what
# ends at once, however often it has ended before.
_RESTART = """
for process in /proc/[0-9]*; do
    case $(tr '\\0' ' ' <"$process/cmdline" 2>/dev/null) in
    "kube-apiserver "* | "kube-controller-manager "* | "kube-scheduler "*)
        sudo kill "${process#/proc/}" ;;
    esac
done
sudo systemctl restart kubelet
"""


def days_left(machine: Remote) -> dict[str, float]:
    """Days until each certificate that a request renews expires, by its file."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        path: (_load(text).not_valid_after_utc - now).total_seconds() / 86400
        for paths in _SIGNED.values()
        for path in paths
        if (text := _read(machine, path))
    }


def reissue(masters: Sequence[Remote], workers: Sequence[Remote], days: float) -> None:
    """Issue all certificates anew, to expire in so many days, and let the programs take them.

    kubelet itself renews its certificate before its end, and does not start after it. With
    certificates that have not expired, the apiservers are ready at the end.
    """
    for master in masters:
        _reissue_master(master, days)
    for worker in workers:
        _reissue_worker(worker, masters[0], days)
    if days > 0:
        for master in masters:
            await_ready(master)


def await_ready(master: Remote) -> None:
    """Wait until the machine's own apiserver is ready."""
    what = f"the apiserver of {master.address}"
    wait.until(
        lambda: master.run(f"{_READY} 2>&1", check=False).strip(),
        lambda seen: seen == "ok", 300, what,
    )


def _reissue_master(master: Remote, days: float) -> None:
    for authority, paths in _SIGNED.items():
        left_out = {_KUBELET} if days > 0 else set()
        _reissue(master, [p for p in paths if p not in left_out], master, authority, days)
    master.run(_RESTART)


def _reissue_worker(worker: Remote, master: Remote, days: float) -> None:
    """Issue a worker's with the CA of a master."""
    paths = (_SERVING,) if days > 0 else (_SERVING, _KUBELET)
    _reissue(worker, paths, master, f"{_PKI}/ca", days)
    worker.run("sudo systemctl restart kubelet")


def _reissue(
    machine: Remote, paths: Iterable[str], master: Remote, authority: str, days: float
) -> None:
    issuer = x509.load_pem_x509_certificate(_read(master, f"{authority}.crt").encode())
    key = serialization.load_pem_private_key(_read(master, f"{authority}.key").encode(), None)
    for path in paths:
        text = _read(machine, path)
        if text:
            _write(machine, path, _replaced(text, _signed(_load(text), issuer, key, days)))


def _signed(
    old: x509.Certificate, issuer: x509.Certificate, key: object, days: float
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(old.subject)
        .issuer_name(issuer.subject)
        .public_key(old.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=356))
        .not_valid_after(now + datetime.timedelta(days=days))
    )
    for extension in old.extensions:
        builder = builder.add_extension(extension.value, extension.critical)
    return builder.sign(key, hashes.SHA256())  # type: ignore[arg-type]


def _load(text: str) -> x509.Certificate:
    embedded = _EMBEDDED.search(text)
    return x509.load_pem_x509_certificate(
        base64.b64decode(embedded[0]) if embedded else text.encode()
    )


def _replaced(text: str, certificate: x509.Certificate) -> str:
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    if _EMBEDDED.search(text):
        return _EMBEDDED.sub(base64.b64encode(pem).decode(), text)
    return _BLOCK.sub(pem.decode(), text)


def _read(machine: Remote, path: str) -> str:
    """What a file holds; nothing where there is none."""
    return machine.run(f"sudo cat {path} 2>/dev/null", check=False)


def _write(machine: Remote, path: str, text: str) -> None:
    """Replace what a file holds; its mode stays."""
    encoded = base64.b64encode(text.encode()).decode()
    machine.run(f"echo {encoded} | base64 --decode | sudo tee {path} >/dev/null")
