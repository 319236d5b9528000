"""Monitoring: the parameter, machines that come with the service, and the service itself."""

import json
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from mgmt_drivers.cluster.cluster_checks import read_params
from mgmt_drivers.cluster.etcd import upkeep
from mgmt_drivers.cluster.monitoring import monitoring, node_health
from mgmt_drivers.cluster.monitoring.monitoring_params import Monitoring
from mgmt_drivers.errors import CommandFailed, MgmtDriverError, ParameterError
from mgmt_drivers.operations import modify, scale_out
from mgmt_drivers.testing import fake_cluster
from mgmt_drivers.testing.made_certificates import Signed, signed
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    PARAMS,
    STORAGE,
    WORKERS,
    SimulatedClusterTest,
    new_node,
)
from mgmt_drivers.testing.simulated_world import Machine
from mgmt_drivers.testing.simulation import SimulatedSession

_UNIT = f"/etc/systemd/system/{monitoring.SERVICE}"
_SETTINGS = f"/etc/systemd/system/{monitoring.EXPORTER}.d/tacker.conf"
_TIME = "k8s_vnf_health_timestamp_seconds"


class DiskTest(unittest.TestCase):
    def test_disks_that_are_full(self) -> None:
        """df tells total and free bytes and inodes of each path that is there."""
        for rows, is_full in (
            ("1000 30 1000 30\n", False),
            ("1000 29 1000 30\n", True),
            ("1000 30 1000 29\n", True),
            ("1000 500 1000 500\n1000 20 1000 500\n", True),
            ("1000 500 0 0\n", False),  # Btrfs
            ("1000 500 - -\n", False),
            ("1000 -5 1000 500\n", True),  # root has used what is kept for root
            ("", True),
        ):
            with self.subTest(rows):
                made, sessions = fake_cluster.cluster()
                stdout = f"1K-blocks Avail Inodes IFree\n{rows}"
                session = sessions[made.name(made.leader)]
                session.expect("df", stdout=stdout, status=1)  # a path is not there
                self.assertEqual(is_full, monitoring.is_disk_full(made.leader, made))
                self.assertEqual(upkeep.DATA, session.ran[0][-1])


class ParameterTest(SimulatedClusterTest):
    def read(self, given: Any) -> Monitoring | None:
        self.params = {**PARAMS, "monitoring": given}
        self.build()
        return read_params(self.request()).monitoring

    def test_it_is_off_unless_it_is_given(self) -> None:
        self.assertIsNone(self.read(None))
        self.assertEqual(Monitoring(9100), self.read({}))
        self.assertEqual(Monitoring(9200), self.read({"port": "9200"}))

    def test_ports_that_the_exporter_cannot_have(self) -> None:
        for port, words in (
            (443, "must be 1024 or higher"), (10250, "nodes need 10250"), (6443, "nodes need"),
            (30000, "nodes need"), (70000, "must be a TCP port"), (True, "must be a TCP port"),
        ):
            with self.assertRaisesRegex(ParameterError, rf"monitoring\.port: {words}"):
                self.read({"port": port})
        with self.assertRaisesRegex(ParameterError, r"monitoring\.ports: unknown"):
            self.read({"ports": 9100})


class ClusterTest(SimulatedClusterTest):
    """A cluster whose machines tell their health."""

    def setUp(self) -> None:
        super().setUp()
        self.params = {**PARAMS, "monitoring": {"port": 9200}}
        self.build(is_clustered=False)

    def file(self, address: str, path: str) -> str:
        return self.machine(address).files[path][0].decode()

    def assert_monitored(self, machine: Machine) -> None:
        units = {monitoring.SERVICE, monitoring.EXPORTER}
        self.assertLessEqual(units, machine.services, machine.name)
        self.assertIn(monitoring.PACKAGE, machine.packages)
        self.assertIn(":9200 ", machine.files[_SETTINGS][0].decode())

    def test_each_machine_tells_what_it_has(self) -> None:
        self.instantiate(self.services())
        for machine in self.world.machines.values():
            self.assert_monitored(machine)
        started = {address: self.file(address, _UNIT) for address in (
            MASTERS[0], WORKERS[0], STORAGE)}
        name = self.machine(MASTERS[0]).name
        self.assertIn(
            f"/node-health.py --api 10.10.0.110:16443 --node {name} --etcd /var/lib/kubelet "
            "/var/lib/containerd /var/lib/etcd\n", started[MASTERS[0]],
        )
        self.assertNotIn("etcd", started[WORKERS[0]])
        self.assertIn("/var/lib/kubelet /var/lib/containerd\n", started[WORKERS[0]])
        self.assertIn("/node-health.py /\n", started[STORAGE])
        # At the end the exporter tells what the service has written last.
        order = f"\nBefore={monitoring.SERVICE}\nAfter=network.target\n"
        self.assertIn(order, self.file(STORAGE, _SETTINGS))
        # Otherwise the signal to end would end systemctl, too, which the program asks then.
        self.assertIn("\nKillMode=mixed\n", started[STORAGE])
        # The package's unit sends a hang-up, which ends the exporter.
        self.assertIn("\nExecReload=\n", self.file(STORAGE, _SETTINGS))

    def test_the_exporter_comes_with_the_other_packages(self) -> None:
        installed = []

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            if monitoring.PACKAGE in " ".join(argv) and "dpkg-query" not in argv:
                installed.append(session.machine.address)

        self.instantiate(self.services(note))
        named = [*dict.fromkeys(installed)]
        self.assertEqual({*MASTERS, *WORKERS, STORAGE}, {*named})

    def test_without_the_parameter_nothing_is_set_up(self) -> None:
        self.params = PARAMS
        self.instantiate(self.services())
        for machine in self.world.machines.values():
            self.assertNotIn(monitoring.SERVICE, machine.services)
            self.assertNotIn(monitoring.PACKAGE, machine.packages)

    def test_new_machines_get_it_and_an_upgrade_keeps_it(self) -> None:
        self.instantiate(self.services())
        new = self.arrive(new_node("worker", 20, "10.10.0.20"))
        scale_out.scale_out(self.request(new.node.vnfc_id), self.services(), self.vims)
        self.assert_monitored(new)
        for address in (MASTERS[1], STORAGE):
            target = self.machine(address).node
            self.heal_start(self.request(target.vnfc_id), self.services())
            self.replaced(target)
            self.heal_end(self.request(target.vnfc_id), self.services())
            self.assert_monitored(self.machine(address))
        self.world.have("v1.36.4")
        self.params = {**self.params, "kubernetes_version": "1.36"}
        modify.modify(self.request(), self.services(), self.vims, {"kubernetes_version": "1.37"})
        for machine in self.world.machines.values():
            self.assert_monitored(machine)

    def test_an_exporter_that_does_not_answer_fails_the_phase(self) -> None:
        def silent(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "--check" in argv:
                session.machine.packages.discard(monitoring.PACKAGE)

        # A retry looks whether the exporter answers, too: the units have read their files.
        for _ in range(2):
            words = "configure monitoring.*on port 9200.*another"
            with self.assertRaisesRegex(MgmtDriverError, words):
                self.instantiate(self.services(silent))
        for machine in self.world.machines.values():
            machine.packages.add(monitoring.PACKAGE)
        self.instantiate(self.services())
        for machine in self.world.machines.values():
            self.assert_monitored(machine)

    def test_a_modification_gives_another_port_after_a_failed_one(self) -> None:
        self.instantiate(self.services())

        def taken(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "--check" in argv:
                packages = session.machine.packages
                (packages.discard if "9300" in argv else packages.add)(monitoring.PACKAGE)

        def modify_port(port: int) -> None:
            change = {"monitoring": {"port": port}}
            modify.modify(self.request(), self.services(taken), self.vims, change)

        with self.assertRaisesRegex(MgmtDriverError, "on port 9300.*or modify it"):
            modify_port(9300)
        modify_port(9400)
        for machine in self.world.machines.values():
            self.assertIn(":9400 ", machine.files[_SETTINGS][0].decode())

    def test_a_second_run_changes_nothing(self) -> None:
        self.instantiate(self.services())
        applied = []

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            if monitoring.SERVICE in argv and "apply-unit" in argv:
                applied.append(argv)

        self.instantiate(self.services(note))
        self.assertEqual([], applied)

    def test_a_package_that_is_not_to_be_had(self) -> None:
        def none(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "install" in argv and monitoring.PACKAGE in argv:
                raise CommandFailed("apt-get install", 100, "E: Unable to locate package")

        words = f"cannot install {monitoring.PACKAGE}, .* Give it a route"
        with self.assertRaisesRegex(MgmtDriverError, words):
            self.instantiate(self.services(none))


class _Answers(BaseHTTPRequestHandler):
    """Answers by path as the server's ``answers`` say; any other path is not there."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server: Any = self.server
        status, body = server.answers.get(self.path, (404, ""))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *words: Any) -> None:
        """Say nothing."""


def _node(ready: str) -> str:
    others = [{"type": "DiskPressure", "status": "True"}]
    return json.dumps({"status": {"conditions": [*others, {"type": "Ready", "status": ready}]}})


class ServiceTest(unittest.TestCase):
    """The program as machines run it, with other ports and folders."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "k8s_vnf.prom"
        self.server, self.client = signed("localhost"), signed("kubelet")
        (self.folder / "ca.crt").write_bytes(self.server.ca)
        self.certify(self.client)
        self.kubelet = self.serve({"/healthz": (200, "ok")})
        self.etcd = self.serve({"/health?exclude=NOSPACE": (200, '{"health":"true"}')})
        self.api = self.serve(
            {"/readyz": (200, "ok"), "/api/v1/nodes/me": (200, _node("True"))}, is_secure=True
        )

    def certify(self, certificate: Signed) -> None:
        new = self.folder / "new.pem"
        new.write_bytes(certificate.certificate + certificate.key)
        new.replace(self.folder / "kubelet.pem")

    def serve(self, answers: dict[str, tuple[int, str]], is_secure: bool = False) -> Any:
        server: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
        server.daemon_threads, server.answers = True, answers
        server.handle_error = lambda *words: None  # the program is killed in the end
        if is_secure:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            chain, clients = self.folder / "server.pem", self.folder / "clients.pem"
            chain.write_bytes(self.server.certificate + self.server.key)
            clients.write_bytes(self.client.ca)
            context.load_cert_chain(chain)
            context.load_verify_locations(clients)
            context.verify_mode = ssl.CERT_REQUIRED
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def program(self) -> str:
        text = Path(node_health.__file__).read_text()
        for old, new in (
            (node_health.FOLDER, str(self.folder)),
            ("10248, 2381", f"{self.kubelet.server_port}, {self.etcd.server_port}"),
            ("/etc/kubernetes/pki/ca.crt", str(self.folder / "ca.crt")),
            ("/var/lib/kubelet/pki/kubelet-client-current.pem", str(self.folder / "kubelet.pem")),
            ("_ROUND = 5.0", "_ROUND = 0.1"),
            ("_LIMIT = 2.0", "_LIMIT = 0.5"),
            ("_SEEN = 11.0", "_SEEN = 0.1"),
            ('"systemctl"', repr(str(self.folder / "systemctl"))),
        ):
            self.assertIn(old, text)
            text = text.replace(old, new)
        return text

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-I", "-c", self.program(), *words]
        process = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def answer_state(self, state: str) -> None:
        """Let systemctl tell a state of the machine."""
        systemctl = self.folder / "systemctl"
        systemctl.write_text(f"#!/bin/sh\n[ $1 = is-system-running ] && echo {state}\nexit 1\n")
        systemctl.chmod(0o755)

    def start_master(self) -> None:
        api = f"localhost:{self.api.server_port}"
        self.start("--api", api, "--node", "me", "--etcd", "/", f"{self.folder}/missing")

    def read(self) -> dict[str, float]:
        text = self.file.read_text() if self.file.exists() else ""
        return {m[1]: float(m[2]) for m in re.finditer(r"(?m)^([^#\s]+) (\S+)$", text)}

    def assert_told(self, **expected: int) -> dict[str, float]:
        """The program tells these values within some rounds; others are 1."""
        values = dict.fromkeys(("kubelet_healthy", "etcd_healthy", "api_ready", "node_ready"), 1)
        wanted = {f"k8s_vnf_{name}": value for name, value in {**values, **expected}.items()}
        deadline = time.monotonic() + 60
        while not wanted.items() <= (told := self.read()).items():
            self.assertLess(time.monotonic(), deadline, told)
            time.sleep(0.02)
        return told

    def test_a_healthy_master(self) -> None:
        (self.folder / "k8s_vnf.prom.new").symlink_to(self.folder / "elsewhere")
        self.start_master()
        told = self.assert_told()
        self.assertLess(abs(told[_TIME] - time.time()), 60)
        for path in ("/", f"{self.folder}/missing"):
            self.assertTrue(0 <= told[f'k8s_vnf_disk_free_ratio{{path="{path}"}}'] <= 1, told)
        self.assertEqual(0o644, self.file.stat().st_mode & 0o777)
        self.assertFalse((self.folder / "elsewhere").exists())
        described = re.findall(r"(?m)^# TYPE (\S+) gauge$", self.file.read_text())
        self.assertEqual(sorted({name.partition("{")[0] for name in told}), sorted(described))

    def test_each_value_alone(self) -> None:
        self.start_master()
        self.assert_told()
        self.kubelet.answers["/healthz"] = (500, "no")
        self.assert_told(kubelet_healthy=0)
        self.etcd.answers.clear()
        self.assert_told(kubelet_healthy=0, etcd_healthy=0)
        self.kubelet.answers["/healthz"] = (200, "ok")
        self.api.answers["/api/v1/nodes/me"] = (200, _node("Unknown"))
        self.assert_told(etcd_healthy=0, node_ready=0)
        self.api.answers["/readyz"] = (500, "etcd failed")
        self.assert_told(etcd_healthy=0, node_ready=0, api_ready=0)

    def test_answers_that_are_no_node(self) -> None:
        self.start_master()
        for body in ("", "[", "[]", '{"status": {"conditions": [1]}}', '{"status": null}'):
            self.api.answers["/api/v1/nodes/me"] = (200, _node("True"))
            self.assert_told()
            self.api.answers["/api/v1/nodes/me"] = (200, body)
            self.assert_told(node_ready=0)

    def test_nobody_answers(self) -> None:
        """Each value is told, and told anew."""
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        self.api.server_port = self.kubelet.server_port = silent.getsockname()[1]
        self.etcd.server_port = 1
        self.start_master()
        none = dict.fromkeys(("kubelet_healthy", "etcd_healthy", "api_ready", "node_ready"), 0)
        first = self.assert_told(**none)
        deadline = time.monotonic() + 60
        while self.read()[_TIME] == first[_TIME]:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def test_certificates_are_read_anew(self) -> None:
        self.certify(signed("stranger"))
        self.start_master()
        self.assert_told(api_ready=0, node_ready=0)
        self.certify(self.client)
        self.assert_told()
        (self.folder / "ca.crt").write_bytes(self.client.ca)
        self.assert_told(api_ready=0, node_ready=0)

    def test_a_storage_server(self) -> None:
        self.start("/")
        deadline = time.monotonic() + 60
        while not self.read():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        self.assertEqual({'k8s_vnf_disk_free_ratio{path="/"}', _TIME}, set(self.read()))

    def test_a_machine_that_shuts_down_says_so(self) -> None:
        for state, expected in (
            ("", {'k8s_vnf_disk_free_ratio{path="/"}', _TIME}),
            ("running", {'k8s_vnf_disk_free_ratio{path="/"}', _TIME}),
            ("stopping", {"k8s_vnf_stopping"}),
        ):
            self.file.unlink(missing_ok=True)
            if state:
                self.answer_state(state)
            process = self.start("/")
            deadline = time.monotonic() + 60
            while not self.read():
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)
            process.terminate()
            self.assertEqual(0, process.wait(60))
            self.assertEqual(expected, set(self.read()), state)
        self.assertEqual({"k8s_vnf_stopping": 1.0}, self.read())

    def test_the_exporter_is_asked(self) -> None:
        exporter = self.serve({"/metrics": (200, f"# HELP {_TIME} x\n{_TIME} 1.5\n")})
        argv = [sys.executable, "-I", "-c", self.program(), "--check"]

        def ask(port: int) -> tuple[int, str]:
            ran = subprocess.run([*argv, str(port)], capture_output=True, text=True, timeout=60)
            return ran.returncode, ran.stderr.strip()

        self.assertEqual((0, ""), ask(exporter.server_port))
        exporter.answers["/metrics"] = (200, f"# HELP {_TIME} x\n")
        self.assertEqual((1, f"the exporter does not tell {_TIME}"), ask(exporter.server_port))
        self.assertEqual((1, "no answer from the exporter (status 0)"), ask(1))
