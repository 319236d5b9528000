"""What the tools and tests need: bounded, and audited where that can be done."""

import configparser
import contextlib
import io
import json
import re
import sys
import threading
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer

from tools.audit import audit
from tools.tests.test_boundaries import CHECKOUT


class BoundsTest(unittest.TestCase):
    def test_every_requirement_has_an_upper_bound(self) -> None:
        """A release to come must not break a gate that was green."""
        tox = configparser.ConfigParser(interpolation=None)
        tox.read(CHECKOUT / "tox.ini")
        files = ("requirements.txt", "tools/requirements.txt")
        lines = [line for f in files for line in (CHECKOUT / f).read_text().splitlines()]
        for section in tox.values():
            lines += section.get("deps", "").splitlines()
        wanted = [line for line in lines if re.match("[A-Za-z]", line)]
        self.assertGreater(len(wanted), 20)
        unbounded = [line for line in wanted if not re.search("<[0-9]|==[0-9]", line)]
        self.assertEqual([], unbounded)


class ReleasesTest(unittest.TestCase):
    def test_tests_and_cloud_have_the_same_versions(self) -> None:
        text = (CHECKOUT / "tox.ini").read_text()
        for release, tacker in (("2026.2", "16"), ("2026.1", "15")):
            path = CHECKOUT / f"tools/devcloud/controller/openstack-{release}.txt"
            pins = set(path.read_text().split())
            (section,) = (s for s in text.split("[testenv") if f"tacker=={tacker}." in s)
            wanted = set(re.findall(r"[a-z-]+==[0-9.]+", section))
            self.assertLess(1, len(wanted))
            self.assertEqual(set(), wanted - pins, release)


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(404 if "none" in self.path else 200)
        self.end_headers()
        found = [{"id": "PYSEC-1"}] if "20.0" in self.path else []
        self.wfile.write(json.dumps({"vulnerabilities": found}).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class AuditTest(unittest.TestCase):
    def setUp(self) -> None:
        self.server = HTTPServer(("127.0.0.1", 0), Answers)
        thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def audit(self, path: str, port: int | None = None) -> tuple[int, str]:
        url = f"http://127.0.0.1:{port or self.server.server_port}/{path}"
        with contextlib.redirect_stdout(io.StringIO()) as said:
            status = audit(url, [sys.executable, "-c", "raise SystemExit(1)"])
        return status, said.getvalue()

    def test_its_findings_fail_the_gate(self) -> None:
        self.assertEqual((1, ""), self.audit("pip/20.0/json"))

    def test_it_is_left_out_aloud_without_its_data(self) -> None:
        for path, port in (("none", None), ("a/mirror", None), ("pip/20.0/json", 9)):
            status, said = self.audit(path, port)
            self.assertEqual(3, status)
            self.assertIn("LEFT OUT", said)
