"""Measures the health of a machine every five seconds, for the exporter of the machine.

A program of its own for Python 3.8 and later, without any other package. It runs as root, since it
asks the API as kubelet does. Each value is told in each round: a question without an answer counts
as bad, and a program that hangs is told by the time of its last round. A machine that shuts down
tells nothing but that, and waits until Prometheus has seen it: systemd may need 90 seconds then to
end what pods leave, and such a machine is not dead. Other users may read the file: it holds numbers
alone.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

FOLDER = "/var/lib/prometheus/node-exporter"  # which the package of the exporter brings
_FILE = f"{FOLDER}/k8s_vnf.prom"
_HOST, _KUBELET, _ETCD = "127.0.0.1", 10248, 2381  # as kubeadm configures them
_CA = "/etc/kubernetes/pki/ca.crt"
_CERTIFICATE = "/var/lib/kubelet/pki/kubelet-client-current.pem"  # with its key
_ROUND = 5.0  # seconds
_SEEN = 11.0  # seconds, within which Prometheus asks the exporter twice
_STATE_LIMIT = 10.0  # seconds for systemd, which stops everything meanwhile, to tell its state
_LIMIT = 2.0  # seconds to connect, and to wait for any bytes of an answer
_MOST = 4 << 20  # bytes of an answer
_TIME = "k8s_vnf_health_timestamp_seconds"
_STOPPING = "k8s_vnf_stopping"
_HELP = {
    "k8s_vnf_kubelet_healthy": "1 if kubelet is healthy",
    "k8s_vnf_node_ready": "1 if the API tells that the node is ready",
    "k8s_vnf_etcd_healthy": "1 if the member of etcd is healthy and has a leader",
    "k8s_vnf_api_ready": "1 if the API of the cluster is ready for this machine",
    "k8s_vnf_disk_free_ratio": "Free part of the disk of a path, of bytes or inodes (0 to 1)",
    _TIME: "Time at which these values were measured",
    _STOPPING: "1 if the machine is shutting down",
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the health of this machine.")
    parser.add_argument("--api", metavar="HOST:PORT", help="the cluster's API; if this is a node")
    parser.add_argument("--node", help="name of the node")
    parser.add_argument("--etcd", action="store_true", help="a member of etcd runs here")
    parser.add_argument("--check", type=int, metavar="PORT", help="ask the exporter, and end")
    parser.add_argument("paths", nargs="*", help="paths whose disks may run full")
    options = parser.parse_args()
    if options.check:
        sys.exit(_fault_of_exporter(options.check))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        while True:
            begin = time.monotonic()
            _write(measure(options))
            threading.Event().wait(max(0.0, begin + _ROUND - time.monotonic()))
    finally:
        if _is_machine_stopping():
            _write([(_STOPPING, True, "")])
            threading.Event().wait(_SEEN)


def _is_machine_stopping() -> bool:
    argv = ("systemctl", "is-system-running")
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        ran = subprocess.run(argv, check=False, capture_output=True, timeout=_STATE_LIMIT)  # noqa: S603 - no input
        return ran.stdout.strip() == b"stopping"
    return False


def measure(options: argparse.Namespace) -> list[tuple[str, float, str]]:
    """All metrics: name, value and path."""
    values = [*_of_node(options)] if options.api else []
    values += [("k8s_vnf_disk_free_ratio", _free(path), path) for path in options.paths]
    return [*values, (_TIME, time.time(), "")]


def _text(values: list[tuple[str, float, str]]) -> str:
    """The values in the text format of Prometheus."""
    lines: list[str] = []
    described = set()
    for name, value, path in values:
        if name not in described:
            lines += [f"# HELP {name} {_HELP[name]}", f"# TYPE {name} gauge"]
            described.add(name)
        label = f'{{path="{path}"}}' if path else ""
        lines.append(f"{name}{label} {int(value) if isinstance(value, bool) else round(value, 4)}")
    return "\n".join([*lines, ""])


def _of_node(options: argparse.Namespace) -> Iterator[tuple[str, float, str]]:
    kubelet, _ = _ask_local(_KUBELET, "/healthz")
    yield "k8s_vnf_kubelet_healthy", kubelet == http.client.OK, ""
    if options.etcd:
        # An alarm for space is the cluster's, not this member's.
        etcd, _ = _ask_local(_ETCD, "/health?exclude=NOSPACE")
        yield "k8s_vnf_etcd_healthy", etcd == http.client.OK, ""
    is_api_ready, is_node_ready = _ask_api(options.api, options.node)
    yield "k8s_vnf_api_ready", is_api_ready, ""
    yield "k8s_vnf_node_ready", is_node_ready, ""


def _ask_api(api: str, node: str) -> tuple[bool, bool]:
    """Whether the API is ready, and whether the API tells that the node is.

    The certificate is read anew each time: kubelet and the drivers renew it.
    """
    host, _, port = api.rpartition(":")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(_CA)
        context.load_cert_chain(_CERTIFICATE)
    except OSError:  # the machine has not joined yet
        return False, False
    connection = http.client.HTTPSConnection(host, int(port), timeout=_LIMIT, context=context)
    with contextlib.closing(connection):
        status, _ = _ask(connection, "/readyz")
        # Without an answer, the second question would only wait again.
        _, body = _ask(connection, f"/api/v1/nodes/{node}") if status else (0, b"")
    return status == http.client.OK, _is_ready(body)


def _ask_local(port: int, path: str) -> tuple[int, bytes]:
    with contextlib.closing(http.client.HTTPConnection(_HOST, port, timeout=_LIMIT)) as connection:
        return _ask(connection, path)


def _ask(connection: http.client.HTTPConnection, path: str) -> tuple[int, bytes]:
    """Status and body of an answer; status 0 without an answer."""
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read(_MOST)
    except (OSError, http.client.HTTPException):
        return 0, b""


def _is_ready(node: bytes) -> bool:
    with contextlib.suppress(ValueError, LookupError, TypeError):
        conditions = json.loads(node)["status"]["conditions"]
        return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return False


def _free(path: str) -> float:
    """The free part of the disk of a path, or of the folder that it will lie in."""
    try:
        disk = os.statvfs(path)
    except FileNotFoundError:
        return _free(str(Path(path).parent))
    except OSError:  # of a broken disk
        return 0.0
    parts = ((disk.f_bavail, disk.f_blocks), (disk.f_favail, disk.f_files))
    # Some file systems, such as Btrfs, count no inodes.
    return min((free / total for free, total in parts if total), default=0.0)


def _write(values: list[tuple[str, float, str]]) -> None:
    """Replace the file; the exporter never reads a half of it."""
    try:
        _replace_file(_text(values))
    except OSError as error:  # such as a full disk; the next round tries again
        print(f"cannot write {_FILE}: {error}", file=sys.stderr, flush=True)


def _replace_file(text: str) -> None:
    new = Path(f"{_FILE}.new")
    new.unlink(missing_ok=True)
    # Not through a link: other users may write where packages of Prometheus keep files.
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        os.fchmod(descriptor, 0o644)
    new.replace(_FILE)


def _fault_of_exporter(port: int) -> str | None:
    """Why the exporter does not tell what this program has written; None if it does."""
    status, body = _ask_local(port, "/metrics")
    if status != http.client.OK:
        return f"no answer from the exporter (status {status})"
    return None if f"\n{_TIME} ".encode() in body else f"the exporter does not tell {_TIME}"


if __name__ == "__main__":
    main()
