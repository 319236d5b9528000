"""Tells of the certificates on a control-plane node, and of who still uses older ones.

A program of its own for Python 3.8 and later, without any other package. Without an argument it
prints a JSON object with

``certificates``
    by name, each as PEM; what the node lacks is left out
``programs``
    those of the control plane that run, by name: ``outdated`` names the certificates that the
    program has in an older edition than the disk, ``answers`` tells whether each of its ports
    showed a certificate

With the name of a program as its argument it tells the program to end (SIGTERM), if it runs:
kubelet then starts it anew.

The private key of etcd's own client opens etcd's ports. It stays on the machine, and no
certificate that a port shows is verified here: it is only compared with the one on the disk.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import signal
import socket
import ssl
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

_FOLDER = "/etc/kubernetes"
_PKI = f"{_FOLDER}/pki"
_PATHS = {
    "apiserver": f"{_PKI}/apiserver.crt",
    "apiserver-kubelet-client": f"{_PKI}/apiserver-kubelet-client.crt",
    "apiserver-etcd-client": f"{_PKI}/apiserver-etcd-client.crt",
    "front-proxy-client": f"{_PKI}/front-proxy-client.crt",
    "etcd-server": f"{_PKI}/etcd/server.crt",
    "etcd-peer": f"{_PKI}/etcd/peer.crt",
    "etcd-healthcheck-client": f"{_PKI}/etcd/healthcheck-client.crt",
    "admin.conf": f"{_FOLDER}/admin.conf",
    "super-admin.conf": f"{_FOLDER}/super-admin.conf",
    "controller-manager.conf": f"{_FOLDER}/controller-manager.conf",
    "scheduler.conf": f"{_FOLDER}/scheduler.conf",
    "kubelet": "/var/lib/kubelet/pki/kubelet-client-current.pem",
    "ca": f"{_PKI}/ca.crt",
    "front-proxy-ca": f"{_PKI}/front-proxy-ca.crt",
    "etcd-ca": f"{_PKI}/etcd/ca.crt",
}
_NAMES = {path: name for name, path in _PATHS.items()}
_ETCD_CLIENT = (f"{_PKI}/etcd/healthcheck-client.crt", f"{_PKI}/etcd/healthcheck-client.key")
# The programs; of each the options that name a certificate which it shows, and the option that
# says where. Those read it anew by themselves (etcd at each connection, the apiserver within a
# minute). Of any other certificate that its options name, a program has the edition from its start.
_PROGRAMS = {
    "etcd": {"--cert-file": "--listen-client-urls", "--peer-cert-file": "--listen-peer-urls"},
    "kube-apiserver": {"--tls-cert-file": "--secure-port"},
    "kube-controller-manager": {},
    "kube-scheduler": {},
}
_LIMIT = 5  # seconds for a port to show its certificate
_PEM = re.compile("-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_IN_KUBECONFIG = re.compile("client-certificate-data: *([A-Za-z0-9+/=]+)")


def main(arguments: list[str]) -> None:
    if arguments:
        end(arguments[0])
        return
    found = {name: certificate(path) for name, path in _PATHS.items()}
    certificates = {name: pem for name, pem in found.items() if pem is not None}
    json.dump({"certificates": certificates, "programs": report(certificates)}, sys.stdout)


def end(program: str) -> None:
    for pid, name, _ in programs():
        if name == program:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)


def certificate(path: str) -> str | None:
    """The certificate in a file, as PEM, without the key that may lie beside it.

    None where there is no file, or a kubeconfig without a certificate; empty where a file of
    certificates has none.
    """
    try:
        text = Path(path).read_text()
    except FileNotFoundError:
        return None
    if path.endswith(".conf"):
        embedded = _IN_KUBECONFIG.search(text)
        if embedded is None:
            return None
        text = base64.b64decode(embedded[1]).decode()
    found = _PEM.search(text)
    return found[0] if found else ""


def report(certificates: dict[str, str]) -> dict[str, dict[str, object]]:
    """What the programs that run have in an older edition than the disk."""
    told: dict[str, dict[str, object]] = {}
    for pid, name, options in programs():
        outdated, answers = set(written_since(pid, name, options)), True
        for option, place in _PROGRAMS[name].items():
            shown = shown_at(options.get(place, ""))
            of = _NAMES.get(options.get(option, ""), "")
            answers = answers and shown is not None
            if shown is not None and shown != _der(certificates.get(of, "")):
                outdated.add(of)
        told[name] = {"outdated": sorted(outdated), "answers": answers}
    return told


def programs() -> Iterator[tuple[int, str, dict[str, str]]]:
    """Number, name and options of each process that is a program of the control plane."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode().split("\0")
        except (OSError, UnicodeDecodeError):
            continue  # it has ended, or is nothing of ours
        name = words[0].rpartition("/")[2]
        options = {option: value for option, _, value in (w.partition("=") for w in words[1:])}
        # Pods may run an etcd of their own.
        if name in _PROGRAMS and _NAMES.keys() & set(options.values()):
            yield int(folder.name), name, options


def shown_at(place: str) -> bytes | None:
    """The certificate (DER) that a port shows; None when it shows none.

    :param place: the port of the apiserver, or the URLs of etcd, of which the first will do
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        url = urlsplit(f"https://127.0.0.1:{place}" if place.isdecimal() else place.split(",")[0])
        if not place.isdecimal():
            context.load_cert_chain(*_ETCD_CLIENT)
        address = (url.hostname or "", url.port or 0)
        plain = socket.create_connection(address, _LIMIT)
        with plain, context.wrap_socket(plain) as wrapped:
            return wrapped.getpeercert(True)
    except (OSError, ValueError):
        return None


def written_since(pid: int, program: str, options: dict[str, str]) -> Iterator[str]:
    """The certificates that a process uses, does not show, and has not seen since its start."""
    for option, path in options.items():
        if path in _NAMES and option not in _PROGRAMS[program]:
            with contextlib.suppress(OSError):  # the file is gone, or the process is
                if Path(path).stat().st_mtime > started(pid):
                    yield _NAMES[path]


def started(pid: int) -> float:
    """When a process started, in seconds since the epoch (proc(5), starttime)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    since_boot = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    # In this order: who is interrupted between the two looks at last starts what need not be.
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + since_boot


def _der(pem: str) -> bytes:
    return ssl.PEM_cert_to_DER_cert(pem) if pem else b""


if __name__ == "__main__":
    main(sys.argv[1:])
