"""Asking registries, on real sockets: what is wrong with each is told."""

import base64
import contextlib
import json
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from mgmt_drivers.cluster.registries import registry_probe
from mgmt_drivers.testing.made_certificates import Signed, signed

_GOOD = "Basic " + base64.b64encode(b"me:secret").decode()


class Registry(BaseHTTPRequestHandler):
    """One that wants what its server's ``wants`` says: nothing, basic or bearer."""

    def do_GET(self) -> None:
        server: Any = self.server
        self.given = self.headers.get("Authorization")
        if self.path.startswith("/token"):
            allowed = self.given == _GOOD or (server.anonymous and self.given is None)
            self.answer(200 if allowed else 401, body=b'{"token": "t0ken"}')
        elif self.path.startswith("/hostile") or server.wants.startswith("hostile"):
            self.be_hostile(server.wants)
        elif not self.path.endswith("/v2/") or "elsewhere" in self.path:
            self.answer(404)
        elif server.wants == "basic" and self.given != _GOOD:
            self.answer(401, 'Basic realm="here"')
        elif server.wants == "bearer" and self.given != "Bearer t0ken":
            host = self.headers["Host"]
            self.answer(401, f'Bearer realm="http://{host}/token",service="{host}"')
        else:
            self.answer(200)

    def be_hostile(self, how: str) -> None:
        host = self.headers["Host"]
        if how.startswith("hostile realm "):
            self.answer(401, f'Bearer realm="{how.rpartition(" ")[2]}"')
        elif how == "hostile challenge":
            self.answer(401, "Bearer " + "x" * 60_000)
        elif how == "hostile token" and self.path.endswith("/v2/"):
            self.answer(401, f'Bearer realm="http://{host}/hostile"')
        elif how == "hostile token":
            self.answer(200, body=b"[" * 500_000)
        elif how == "hostile redirect":
            self.send_response(302)
            self.send_header("Location", "ftp://127.0.0.1:1/")
            self.end_headers()
            server: Any = self.server
            with contextlib.suppress(OSError):
                self.wfile.write(b"x" * 50_000_000)
                server.was_read = True
        else:
            with contextlib.suppress(OSError):
                self.answer(200, body=b"x" * 10_000_000)

    def answer(self, status: int, challenge: str = "", body: bytes = b"{}") -> None:
        self.send_response(status)
        if challenge:
            self.send_header("WWW-Authenticate", challenge)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: Any) -> None:
        """Say nothing."""


class RegistryProbeTest(unittest.TestCase):
    def test_certificates_that_cannot_be_read(self) -> None:
        broken = signed("x").ca.decode().replace("MII", "MIX", 1)
        error = registry_probe.error_of({"url": "https://127.0.0.1:1", "ca": broken})
        self.assertIn("the machine cannot read its certificate_path", error or "")

    def test_what_nobody_has_foreseen_hides_no_other(self) -> None:
        questions = [{"url": "https://127.0.0.1:1", "ca": "ü"}, {"url": f"http://{self.serve()}"}]
        first, second = self.run_program(Path(registry_probe.__file__).read_text(), questions)
        self.assertIn("it cannot be asked: TypeError: cadata", first)
        self.assertIsNone(second)

    def serve(
        self, wants: str = "", anonymous: bool = False, certificate: Signed | None = None
    ) -> str:
        """Start a registry; returns host and port."""
        server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
        server.wants, server.anonymous, server.was_read = wants, anonymous, False
        self.server = server
        if certificate:
            with tempfile.TemporaryDirectory() as folder:
                chain = Path(folder, "chain.pem")
                chain.write_bytes(certificate.certificate + certificate.key)
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(chain)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"localhost:{server.server_port}"

    def assert_fault(self, words: str, url: str, **more: str) -> None:
        fault = registry_probe.error_of({"url": url, **more})
        self.assertIn(words, fault or "")
        if not words:
            self.assertIsNone(fault)

    def test_without_login(self) -> None:
        self.assert_fault("", f"http://{self.serve()}")
        self.assert_fault("answers with status 404", f"http://{self.serve()}/elsewhere/v3")

    def test_basic_login(self) -> None:
        url = f"http://{self.serve('basic')}"
        self.assert_fault("", url, username="me", password="secret")
        self.assert_fault("it refuses the login of user me", url, username="me", password="wrong")
        self.assert_fault("it wants a login: give username and password", url)

    def test_token_login(self) -> None:
        url = f"http://{self.serve('bearer')}"
        self.assert_fault("", url, username="me", password="secret")
        self.assert_fault("refuses the login of user me", url, username="me", password="wrong")
        self.assert_fault("refuses those who give no login", url)
        self.assert_fault("", f"http://{self.serve('bearer', anonymous=True)}")

    def test_a_login_that_is_shown_unasked(self) -> None:
        good, wrong = ({"username": "me", "password": p, "shows": "basic"} for p in ("secret", "x"))
        for wants in ("", "basic"):
            self.assert_fault("", f"http://{self.serve(wants)}", **good)
        refused, tokens = (f"http://{self.serve(wants)}" for wants in ("basic", "bearer"))
        self.assert_fault("it refuses the login of user me", refused, **wrong)
        self.assert_fault("it gives out tokens", tokens, **good)

    def test_certificates(self) -> None:
        good, other = signed("localhost"), signed("elsewhere")
        url = f"https://{self.serve(certificate=good)}"
        self.assert_fault("", url, ca=good.ca.decode())
        self.assert_fault("certificate is not to be trusted: unable to get", url)
        self.assert_fault("not to be trusted", url, ca=other.ca.decode())
        url = f"https://{self.serve(certificate=other)}"
        self.assert_fault("Hostname mismatch", url, ca=other.ca.decode())

    def test_the_wrong_connection_type(self) -> None:
        self.assert_fault("it does not speak HTTPS", f"https://{self.serve()}")
        secure = self.serve(certificate=signed("localhost"))
        self.assert_fault("it cannot be reached", f"http://{secure}")

    def test_only_http_is_opened(self) -> None:
        with tempfile.NamedTemporaryFile() as secret:
            for realm in (f"file://{secret.name}", "file:///dev/zero", "data:,x", "ftp://a/b", ""):
                url = f"http://{self.serve(f'hostile realm {realm}')}"
                self.assert_fault("which is not an http or", url, username="u", password="p")
            self.assert_fault("unknown url type", f"file://{secret.name}?")
        self.assert_fault("it cannot be reached", f"http://{self.serve('hostile redirect')}")
        self.assert_fault("it cannot be", f"http://{self.serve('hostile realm http://h]')}")

    def test_an_answer_without_end(self) -> None:
        started = time.monotonic()
        self.assert_fault("its answer is longer than", f"http://{self.serve('hostile')}")
        self.assert_fault("gives no token", f"http://{self.serve('hostile token')}")
        self.assert_fault("which is not an http", f"http://{self.serve('hostile challenge')}")
        self.assertLess(time.monotonic() - started, 60)

    def test_what_comes_with_a_redirection_is_not_read(self) -> None:
        url = f"http://{self.serve('hostile redirect')}"
        self.assert_fault("unknown url type: ftp", url)
        self.doCleanups()
        self.assertFalse(self.server.was_read)

    def test_nobody_there(self) -> None:
        self.assert_fault("its name is not known", "http://registry.invalid:5000")
        self.assert_fault("it cannot be reached: [Errno 111]", "http://127.0.0.1:1")

    def test_through_a_proxy(self) -> None:
        proxy = f"http://{self.serve()}"
        self.assert_fault("", "http://registry.invalid:5000", proxy=proxy)

    def test_one_that_never_ends_its_answer_hides_no_other(self) -> None:
        slow = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(slow.close)
        questions = [{"url": f"http://127.0.0.1:{slow.getsockname()[1]}"},
                     {"url": f"http://{self.serve()}"}]
        program = Path(registry_probe.__file__).read_text()
        self.assertIn("    concurrent.futures.wait(", program)
        hasty = program.replace("_WHOLE_LIMIT = 110", "_WHOLE_LIMIT = 2").replace(
            # The second has answered: how fast it is does not matter here.
            "    concurrent.futures.wait(",
            "    concurrent.futures.wait(asked[1:])\n    concurrent.futures.wait(",
        )
        found = self.run_program(hasty, questions)
        self.assertEqual(["it has not answered within 2 s", None], found)

    def run_program(self, program: str, questions: list[dict[str, str]]) -> Any:
        ran = subprocess.run(
            [sys.executable, "-I", "-c", program], input=json.dumps(questions).encode(),
            stdout=subprocess.PIPE, check=True,
        )
        return json.loads(ran.stdout)

    def test_it_is_a_program(self) -> None:
        """As it is run on machines: from standard input to standard output."""
        questions = [{"url": f"http://{self.serve()}"}, {"url": "http://127.0.0.1:1"}]
        first, second = self.run_program(Path(registry_probe.__file__).read_text(), questions)
        self.assertIsNone(first)
        self.assertIn("refused", second)
