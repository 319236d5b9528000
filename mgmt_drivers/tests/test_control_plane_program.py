"""The program that looks at control-plane nodes, run for real beside programs that play theirs."""

import base64
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from mgmt_drivers.cluster.certificates import control_plane_program
from mgmt_drivers.testing.made_certificates import Signed, signed

# Shows a certificate at each of its ports, once to whoever comes: that of its start, or with
# --anew that of the disk. Only those with a certificate of the CA get in, before TLS 1.3 too.
_SERVER = """
import socket, ssl, sys, threading
options = dict(word.partition("=")[::2] for word in sys.argv[1:])

def context(path):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(path, path.replace(".crt", ".key"))
    if "--ca" in options:
        made.maximum_version = ssl.TLSVersion.TLSv1_2
        made.verify_mode = ssl.CERT_REQUIRED
        made.load_verify_locations(options["--ca"])
    return made

def serve(path, place):
    first = context(path)
    port = place.partition(",")[0].rpartition(":")[2]
    server = socket.create_server(("127.0.0.1", int(port)))
    while True:
        client, _ = server.accept()
        try:
            made = context(path) if "--anew" in options else first
            made.wrap_socket(client, server_side=True).close()
        except OSError:
            pass

for name, place in (("--cert-file", "--listen-client-urls"), ("--peer-cert-file",
        "--listen-peer-urls"), ("--tls-cert-file", "--secure-port")):
    if name in options:
        threading.Thread(target=serve, args=(options[name], options[place])).start()
threading.Event().wait()
"""


class ControlPlaneProgramTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.pki = self.root / "etc/kubernetes/pki"
        (self.pki / "etcd").mkdir(parents=True)
        self.kubelet = self.root / "var/lib/kubelet/pki/kubelet-client-current.pem"
        self.kubelet.parent.mkdir(parents=True)

    def write(self, name: str, made: Signed) -> Path:
        path = self.pki / f"{name}.crt"
        path.write_bytes(made.certificate)
        path.with_suffix(".key").write_bytes(made.key)
        return path

    def kubeconfig(self, name: str) -> Path:
        made, path = signed(name), self.pki.parent / name
        lines = [
            f"    client-{kind}-data: {base64.b64encode(text).decode()}"
            for kind, text in (("certificate", made.certificate), ("key", made.key))
        ]
        path.write_text("\n".join(["users:", "- user:", *lines, ""]))
        return path

    def ask(self, *words: str) -> dict[str, Any]:
        text = Path(control_plane_program.__file__).read_text()
        for folder in ("/etc/kubernetes", "/var/lib/kubelet"):
            text = text.replace(f'"{folder}', f'"{self.root}{folder}')
        command = [sys.executable, "-c", text, *words]
        shown = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=60).stdout
        self.assertNotIn(b"PRIVATE KEY", shown)
        found: dict[str, Any] = json.loads(shown or "{}")
        return found

    def programs(self) -> Any:
        return self.ask()["programs"]

    def run_as(self, name: str, *options: str) -> subprocess.Popen[bytes]:
        """Run the server as a program of that name."""
        process = subprocess.Popen(
            [name, "-c", _SERVER, *options],
            executable=sys.executable,
            env={**os.environ, "PYTHONHOME": sys.base_prefix},
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def await_answers(self, name: str) -> None:
        deadline = time.monotonic() + 30
        while not self.programs().get(name, {}).get("answers"):
            self.assertLess(time.monotonic(), deadline, name)

    def test_certificates_of_files_and_kubeconfigs(self) -> None:
        made = signed("apiserver")
        self.write("apiserver", made)
        self.kubeconfig("admin.conf")
        self.kubelet.write_bytes(made.key + made.certificate)
        (self.pki / "ca.crt").write_text("")
        (self.pki.parent / "super-admin.conf").write_text("users: [{user: {token: planted}}]")
        found = self.ask()["certificates"]
        self.assertEqual({"apiserver", "admin.conf", "kubelet", "ca"}, set(found))
        self.assertEqual(made.certificate.decode().strip(), found["apiserver"])
        self.assertEqual(found["apiserver"], found["kubelet"])
        self.assertEqual("", found["ca"])

    def test_who_shows_what_the_disk_no_longer_has(self) -> None:
        """The apiserver has it from its start; etcd reads it anew, and lets its clients in only."""
        made = signed("first")
        (self.pki / "etcd/ca.crt").write_bytes(made.ca)
        os.utime(self.pki / "etcd/ca.crt", (0, 0))
        self.write("etcd/healthcheck-client", made)
        paths = {name: self.write(name, made) for name in ("apiserver", "etcd/server", "etcd/peer")}
        ports = _free_ports(3)
        self.run_as("kube-apiserver", f"--tls-cert-file={paths['apiserver']}",
                    f"--secure-port={ports[0]}")
        self.run_as(
            "etcd", "--anew=", f"--ca={self.pki / 'etcd/ca.crt'}",
            f"--cert-file={paths['etcd/server']}", f"--peer-cert-file={paths['etcd/peer']}",
            f"--listen-client-urls=https://127.0.0.1:{ports[1]},https://192.0.2.1:1",
            f"--listen-peer-urls=https://127.0.0.1:{ports[2]}",
        )
        for name in ("kube-apiserver", "etcd"):
            self.await_answers(name)
        settled = {"outdated": [], "answers": True}
        self.assertEqual({"kube-apiserver": settled, "etcd": settled}, self.programs())
        for name in paths:
            self.write(name, signed("second"))
        found = self.programs()
        self.assertEqual({"outdated": ["apiserver"], "answers": True}, found["kube-apiserver"])
        self.assertEqual(settled, found["etcd"])

    def test_who_started_before_a_file_was_written(self) -> None:
        path = self.kubeconfig("scheduler.conf")
        os.utime(path, (0, 0))
        first = self.run_as("kube-scheduler", f"--kubeconfig={path}")
        self.run_as("kube-scheduler", "--kubeconfig=/elsewhere")  # somebody's pod
        self.await_answers("kube-scheduler")
        self.assertEqual([], self.programs()["kube-scheduler"]["outdated"])
        time.sleep(0.1)
        path.touch()
        self.assertEqual(["scheduler.conf"], self.programs()["kube-scheduler"]["outdated"])
        self.ask("kube-scheduler")
        self.assertEqual(-15, first.wait(10))
        self.assertEqual({}, self.programs())
        self.run_as("kube-scheduler", f"--kubeconfig={path}")
        self.await_answers("kube-scheduler")
        self.assertEqual([], self.programs()["kube-scheduler"]["outdated"])

    def test_a_port_at_which_nobody_listens(self) -> None:
        path = self.write("apiserver", signed("apiserver"))
        os.utime(path, (0, 0))
        (port,) = _free_ports(1)
        self.run_as("kube-apiserver", f"--client-ca-file={path}", f"--secure-port={port}")
        deadline = time.monotonic() + 30
        while not (found := self.programs()):
            self.assertLess(time.monotonic(), deadline)
        self.assertEqual({"kube-apiserver": {"outdated": [], "answers": False}}, found)


def _free_ports(number: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [found.getsockname()[1] for found in sockets]
    for found in sockets:
        found.close()
    return ports
