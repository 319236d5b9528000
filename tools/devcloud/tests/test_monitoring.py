"""A cloud with Prometheus, which tells Tacker what to heal."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from unittest import mock

from tools.csar.tests.genuine import needs_openstack
from tools.devcloud import cli, images, openrc, recipes
from tools.devcloud.cloud import Cloud
from tools.devcloud.controller import config_files, services
from tools.devcloud.errors import CloudError
from tools.devcloud.identity import Identity
from tools.devcloud.settings import Network, Settings
from tools.k8s_vnf.app import main
from tools.progress import Progress

SCRIPT = Path(__file__).parents[1] / "controller/monitor.sh"
NETWORK = Network("docker-net0", "192.0.2.0/24")
WITHOUT = Settings("c", "2026.2", "192.0.2.2", "a", "s", NETWORK)
WITH = Settings("c", "2026.2", "192.0.2.2", "a", "s", NETWORK, monitoring="/state/monitoring")


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not in 10 s: {what}")
        time.sleep(0.01)


class SettingsTest(unittest.TestCase):
    def test_a_cloud_keeps_its_monitoring(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        with mock.patch.dict(os.environ, {"XDG_STATE_HOME": folder.name}):
            cloud = Cloud(Identity(Path("/x")), Progress())
            self.assertEqual((False, True), (cloud._monitoring(False), cloud._monitoring(True)))
            state = cloud.identity.state
            state.mkdir(parents=True)
            (state / "settings.json").write_text(WITH.to_json())
            self.assertEqual((True, True), (cloud._monitoring(False), cloud._monitoring(True)))
            (state / "settings.json").write_text(WITHOUT.to_json())
            self.assertFalse(cloud._monitoring(False))
            with self.assertRaisesRegex(CloudError, "has no monitoring; .* down"):
                cloud._monitoring(True)  # not `up`: if it did not refuse, it would make a cloud

    def test_the_controller_sees_the_folder_and_cannot_write_it(self) -> None:
        cloud = Cloud(Identity(Path("/x")), Progress())
        bind = "/state/monitoring:/srv/monitoring:ro"
        for settings, there in ((WITH, True), (WITHOUT, False)):
            controller = cloud._controller(settings)
            self.assertEqual(there, bind in controller.binds)
            self.assertEqual(recipes.controller("2026.2", there).tag, controller.image)

    def test_users_learn_where_the_folder_is(self) -> None:
        variables = openrc.variables(WITH)
        self.assertEqual("/state/monitoring", variables["FUNCTIONAL_MONITORING"])
        self.assertEqual("http://192.0.2.2:9090", variables["FUNCTIONAL_PROMETHEUS"])
        self.assertFalse({"FUNCTIONAL_MONITORING", "FUNCTIONAL_PROMETHEUS"}
                         & set(openrc.variables(WITHOUT)))

    def test_only_a_cloud_with_monitoring_builds_prometheus(self) -> None:
        for monitoring in (False, True):
            with mock.patch.object(images, "_Builder") as builder:
                images.ensure(
                    mock.MagicMock(), mock.Mock(), Progress(), "2026.2", "1.37", monitoring
                )
            asked = sum((call.args[0] for call in builder.return_value.ensure_all.mock_calls), ())
            built = [recipe for recipe in recipes.MONITORS.values() if recipe in asked]
            self.assertEqual([recipes.MONITORS["2026.2"]] if monitoring else [], built)


class ServicesTest(unittest.TestCase):
    def test_services_of_a_cloud(self) -> None:
        monitors = {"prometheus", "prometheus-alertmanager"}
        self.assertEqual(monitors, set(services.names(True)) - set(services.names(False)))


@needs_openstack
class TackerTest(unittest.TestCase):
    def test_tacker_takes_alerts_and_notifications(self) -> None:
        from oslo_config import cfg
        from tacker.sol_refactored.common import config as tacker_config

        for settings, takes in ((WITH, True), (WITHOUT, False)):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "tacker.conf")
                config_files._write(path, config_files._tacker(settings))
                conf = cfg.ConfigOpts()
                for section, options in tacker_config.config_opts():
                    conf.register_opts(options, section)
                conf([], project="x", default_config_files=[str(path)])
                plugin, notification = conf.prometheus_plugin, conf.server_notification
                endpoint = conf.v2_vnfm.endpoint
            self.assertEqual((takes, takes), (plugin.auto_healing, plugin.auto_scaling))
            self.assertFalse(plugin.performance_management)  # which needs a login
            self.assertEqual(takes, notification.server_notification)
            self.assertEqual(takes, endpoint == "http://192.0.2.2:9890")


class _Program(BaseHTTPRequestHandler):
    reloads = 0

    def do_POST(self) -> None:
        type(self).reloads += 1
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        pass


# The controller has curl; the machine of a test may have none.
_CURL = """\
import sys, time, urllib.request
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
for _ in range(100):
    try:
        direct.open(urllib.request.Request(sys.argv[-1], method="POST"))
        break
    except OSError:
        time.sleep(0.1)
"""


class ScriptTest(unittest.TestCase):
    """The program that the script runs is a mere `touch`; what it serves is in this process."""

    def setUp(self) -> None:
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (self.folder / "rules").mkdir()
        self.started = self.folder / "started"
        _Program.reloads = 0
        # It has a port, and takes no connections yet.
        self.server = HTTPServer(("127.0.0.1", 0), _Program, bind_and_activate=False)
        self.server.server_bind()
        stack.callback(self.server.server_close)
        script = SCRIPT.read_text().replace("sleep 1", "sleep 0.05")
        url = f"http://127.0.0.1:{self.server.server_port}/-/reload"
        curl = self.folder / "curl"
        curl.write_text(f"#!{sys.executable}\n{_CURL}")
        curl.chmod(0o755)
        program = ["sh", "-c", 'touch "$0"; exec sleep 60', str(self.started)]
        process = subprocess.Popen(
            ["sh", "-c", script, "monitor.sh", str(self.folder / "prometheus.yml"), url, *program],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"},
        )
        stack.callback(process.wait)
        stack.callback(os.killpg, process.pid, 9)

    def write(self, name: str, text: str) -> None:
        (self.folder / "new").write_text(text)
        (self.folder / "new").replace(self.folder / name)

    def serve(self) -> None:
        self.server.server_activate()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.shutdown)

    def await_reloads(self, count: int) -> None:
        until(lambda: _Program.reloads == count, f"reload {count}")

    def test_the_program_starts_when_its_configuration_is_there(self) -> None:
        self.write("alertmanager.yml", "of the other program")
        time.sleep(0.3)
        self.assertFalse(self.started.exists())
        self.write("prometheus.yml", "scrape_configs: []")
        until(self.started.exists, "the program")

    def test_each_change_is_read_but_no_target(self) -> None:
        self.serve()
        self.write("prometheus.yml", "a")
        until(self.started.exists, "the program")
        time.sleep(0.2)
        self.assertEqual(0, _Program.reloads)
        for number, name in enumerate(("rules/k8s_vnf.yml", "prometheus.yml"), start=1):
            self.write(name, "b")
            self.await_reloads(number)
        (self.folder / "targets").mkdir()
        self.write("targets/one.json", "[]")
        time.sleep(0.3)
        self.assertEqual(2, _Program.reloads)

    def test_a_program_that_starts_is_asked_when_it_listens(self) -> None:
        self.write("prometheus.yml", "a")
        until(self.started.exists, "the program")
        self.write("rules/k8s_vnf.yml", "b")
        time.sleep(0.5)
        self.serve()
        self.await_reloads(1)


class CommandLineTest(unittest.TestCase):
    def test_status_names_the_folder(self) -> None:
        out = io.StringIO()
        container = mock.Mock()
        container.exec_run.side_effect = lambda command: mock.Mock(
            output="\n".join("active" for _ in command[2:]).encode()
        )
        with (
            mock.patch.object(cli, "_controller", return_value=(mock.Mock(), container)),
            mock.patch.object(cli, "load_settings", return_value=WITH),
            mock.patch.object(cli.servers, "find_all", return_value=[]),
            contextlib.redirect_stdout(out),
        ):
            self.assertEqual(0, main(["cloud", "status"]))
        self.assertIn("Prometheus at http://192.0.2.2:9090 reads /state/monitoring", out.getvalue())
        self.assertRegex(out.getvalue(), r"prometheus-alertmanager +active")
