"""Serving certificates of kubelets: the script, run with openssl and TLS for real."""

import contextlib
import datetime
import os
import ssl
import subprocess
import tempfile
import threading
import unittest
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from socket import create_connection, create_server

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from mgmt_drivers.cluster.kubeadm import kubelet_serving
from mgmt_drivers.testing.fake_cluster import cluster
from mgmt_drivers.testing.made_certificates import authority

_TEXT = Path(kubelet_serving.__file__).with_name("kubelet-serving.sh").read_text()
_YEAR = 365 * 86400


class ScriptTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.pki, self.folder = self.root / "pki", self.root / "kubelet/pki"
        self.pki.mkdir()
        (self.root / "tmp").mkdir()
        self.text = _TEXT.replace("pki=/etc/kubernetes/pki", f"pki={self.pki}")
        self.become("the cluster's CA")

    def become(self, name: str) -> None:
        """Make another CA the cluster's."""
        key, certificate = authority(name)
        (self.pki / "ca.key").write_bytes(key)
        (self.pki / "ca.crt").write_bytes(certificate)

    def run_script(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        path = f"{self.root}:{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-c", self.text, "kubelet-serving", *words], input=stdin, text=True,
            env={"PATH": path, "TMPDIR": str(self.root / "tmp")}, capture_output=True, timeout=60,
        )

    def issue(self, *words: str) -> list[str]:
        ran = self.run_script("issue", *words)
        self.assertEqual(0, ran.returncode, ran.stderr)
        made, sessions = cluster(workers=len(words) // 2)
        found = kubelet_serving.read_issued(made.leader, ran.stdout, made, made.hosts[1:])
        self.assertEqual([], [*(self.root / "tmp").iterdir()])
        issued = [secret.reveal() for secret in found.values()]
        self.assertEqual(issued, sessions[made.name(made.leader)].hidden)
        return issued

    @contextlib.contextmanager
    def serve(self, issued: str) -> Iterator[int]:
        """Serve with a certificate, as kubelet does; the port."""
        (self.root / "served").write_text(issued)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.root / "served")
        with create_server(("127.0.0.1", 0)) as listening:
            def answer() -> None:
                with contextlib.suppress(OSError):
                    while True:
                        connection, _ = listening.accept()
                        with contextlib.suppress(OSError):
                            context.wrap_socket(connection, server_side=True).close()

            thread = threading.Thread(target=answer)
            thread.start()
            yield listening.getsockname()[1]
            listening.shutdown(2)
            thread.join()

    def test_a_certificate_is_of_its_node_alone(self) -> None:
        now = datetime.datetime.now(datetime.timezone.utc)
        first, second = self.issue("worker-1", "192.0.2.21", "worker-2", "192.0.2.22")
        keys = {issued.partition("-----END")[0] for issued in (first, second)}
        self.assertEqual(2, len(keys))
        made = [x509.load_pem_x509_certificate(issued.encode()) for issued in (first, second)]
        self.assertEqual(2, len({certificate.serial_number for certificate in made}))
        names = made[1].extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        self.assertEqual([x509.DNSName("worker-2"), x509.IPAddress(ip_address("192.0.2.22"))],
                         [*names])
        use = made[1].extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        self.assertEqual([ExtendedKeyUsageOID.SERVER_AUTH], [*use])
        self.assertEqual("O=system:nodes,CN=system:node:worker-2",
                         ",".join(reversed(made[1].subject.rfc4514_string().split(","))))
        left = made[1].not_valid_after_utc - now
        self.assertEqual(365, round(left.total_seconds() / 86400))

    def test_an_apiserver_verifies_the_address(self) -> None:
        (issued,) = self.issue("worker-1", "127.0.0.1")
        (other,) = self.issue("worker-2", "192.0.2.22")
        context = ssl.create_default_context(cafile=str(self.pki / "ca.crt"))
        for pem, is_right in ((issued, True), (other, False)):
            with self.serve(pem) as port:
                words = contextlib.nullcontext() if is_right else self.assertRaisesRegex(
                    ssl.SSLCertVerificationError, "IP address mismatch")
                with words, create_connection(("127.0.0.1", port), 10) as connection:
                    context.wrap_socket(connection, server_hostname="127.0.0.1").close()

    def test_nothing_is_printed_before_an_error(self) -> None:
        ran = self.run_script("issue", "worker-1", "192.0.2.21", "worker-2", "no address")
        self.assertEqual(1, ran.returncode)
        self.assertEqual("", ran.stdout)
        (self.pki / "ca.key").unlink()
        ran = self.run_script("issue", "worker-1", "192.0.2.21")
        self.assertEqual((1, ""), (ran.returncode, ran.stdout))
        self.assertIn("ca.key", ran.stderr)

    def test_kubelet_gets_key_and_certificate_in_one_step(self) -> None:
        old, new = self.issue("worker-1", "192.0.2.21", "worker-1", "192.0.2.21")
        for issued in (old, new):
            ran = self.run_script(
                "install", str(self.folder), "cat", stdin=f"{issued}---\nconfig: 1\n---\n"
            )
            self.assertEqual((0, "config: 1\n---\n"), (ran.returncode, ran.stdout), ran.stderr)
        ran = self.run_script("install", str(self.folder), "cat", stdin=old[:300])
        self.assertEqual((1, ""), (ran.returncode, ran.stdout))
        for path in (self.folder / "kubelet.crt", self.folder / "kubelet.key"):
            self.assertEqual(new, path.read_text())
            self.assertEqual(0o600, path.stat().st_mode & 0o777)

    def test_the_first_kubelet_has_one_before_it_starts(self) -> None:
        """Also if the CA is that of a backup, which kubeadm keeps."""
        kubeadm = self.root / "kubeadm"
        kubeadm.write_text(f"""#!/bin/bash
            [ "$*" = "init phase certs ca --config /dev/stdin" ] && [ "$(cat)" = config ] || exit 3
            cp {self.root}/made.* {self.pki}
            rename() {{ mv {self.pki}/made.$1 {self.pki}/ca.$1; }}
            rename key && rename crt
            echo '[certs]'""")
        kubeadm.chmod(0o755)
        for kind in ("key", "crt"):
            (self.pki / f"ca.{kind}").rename(self.root / f"made.{kind}")
        shown = 'openssl x509 -in "$0/kubelet.crt" -noout -ext subjectAltName && cat'
        ran = self.run_script(
            "begin", str(self.folder), "master-1", "192.0.2.11", "sh", "-c", shown,
            str(self.folder), stdin="config\n",
        )
        self.assertEqual(0, ran.returncode, ran.stderr)
        self.assertIn("DNS:master-1, IP Address:192.0.2.11", ran.stdout)
        self.assertTrue(ran.stdout.endswith("\nconfig\n"), ran.stdout)
        kubeadm.write_text("#!/bin/sh\nexit 3\n")
        words = ("begin", str(self.folder), "master-1", "192.0.2.11", "echo", "begun")
        ran = self.run_script(*words, stdin="config\n")
        self.assertEqual((3, ""), (ran.returncode, ran.stdout))

    def test_only_certificates_of_the_cluster_that_end_are_listed(self) -> None:
        (issued,) = self.issue("worker-1", "192.0.2.21")
        text = self.text
        with self.serve(issued) as port:
            self.text = text.replace(":10250", f":{port}")

            def listed(seconds: int, *addresses: str) -> list[str]:
                ran = self.run_script("list", str(seconds), *addresses)
                self.assertEqual((0, ""), (ran.returncode, ran.stderr))
                return ran.stdout.split()

            nobody = "127.0.0.2"
            self.assertEqual([], listed(_YEAR - 3600, "127.0.0.1", nobody))
            self.assertEqual(["127.0.0.1"], listed(_YEAR + 3600, nobody, "127.0.0.1"))
            self.become("another CA")  # or kubelet itself
            self.assertEqual([], listed(_YEAR + 3600, "127.0.0.1"))


class ListTest(unittest.TestCase):
    def test_a_leader_names_no_other_machine(self) -> None:
        made, sessions = cluster(workers=2)
        session, addresses = sessions[made.name(made.leader)], ["192.0.2.21", "192.0.2.22"]
        words = ("sudo", "kubelet-serving", "list", str(90 * 86400), *addresses)
        session.expect(*words, stdout="192.0.2.22\n192.0.2.99\nroot\n")
        self.assertEqual(["192.0.2.22"], kubelet_serving.list_ending(made.leader, addresses, 90.0))

    def test_a_leader_that_cannot_look_holds_nothing_up(self) -> None:
        made, sessions = cluster(workers=1)
        session = sessions[made.name(made.leader)]
        session.expect("sudo", "kubelet-serving", "list", status=127, stderr="openssl: not found")
        with self.assertLogs("mgmt_drivers", "WARNING") as logs:
            self.assertEqual([], kubelet_serving.list_ending(made.leader, ["192.0.2.21"], 90.0))
        self.assertIn("openssl: not found", logs.output[0])
