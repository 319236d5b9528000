"""Polls of an API that ends connections, and that refuses."""

import contextlib
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest import mock

from tools.client import poll, wait

_KEY = (
    "openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt",
    "ec_paramgen_curve:prime256v1", "-subj", "/CN=api", "-days", "1",
)


class _Server(ThreadingHTTPServer):
    """Counts connections and requests; ``answers`` are the statuses of the next requests.

    0: the connection ends without an answer. Later requests are answered with 401.
    """

    daemon_threads = True

    def __init__(self, *answers: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = [*answers]
        self.connections = self.requests = 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_GET(self) -> None:
        self.server.requests += 1
        status = self.server.answers.pop(0) if self.server.answers else 401
        if status:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


class KeepAskingTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.certificate, self.key = Path(folder.name, "crt"), Path(folder.name, "key")
        files = ("-out", str(self.certificate), "-keyout", str(self.key))
        subprocess.run([*_KEY, *files], check=True, capture_output=True)
        patched = mock.patch.multiple(poll, log=mock.DEFAULT, _PERIOD=0.01)
        patched.start()
        self.addCleanup(patched.stop)

    @contextlib.contextmanager
    def serving(self, *answers: int) -> Iterator[_Server]:
        server = _Server(*answers)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
            server.server_close()

    def asked(self, *answers: int) -> tuple[poll.Outages, _Server]:
        """Ask until the answers have been given, and a few times more."""
        with self.serving(*answers) as server:
            with poll.keep_asking(f"https://127.0.0.1:{server.server_port}") as seen:
                wait.until(lambda: server.requests, lambda n: n > len(answers) + 2, 30, "requests")
            return seen, server

    def test_one_connection_serves_a_client_that_is_not_let_in(self) -> None:
        seen, server = self.asked(200, 401, 403)
        self.assertEqual(([], 0, 1), (seen.failures, seen.most_in_a_row, server.connections))

    def test_failures_in_a_row(self) -> None:
        seen, server = self.asked(200, 0, 200, 429, 503, 200, 503)
        self.assertEqual((4, 2), (len(seen.failures), seen.most_in_a_row))
        self.assertEqual(1 + 4, server.connections)  # each failure ends a connection
        self.assertLess(0, seen.longest)

    def test_an_address_where_nobody_listens(self) -> None:
        with self.serving() as server:
            url = f"https://127.0.0.1:{server.server_port}"
        with poll.keep_asking(url) as seen:
            wait.until(lambda: seen.most_in_a_row, lambda n: n > 3, 30, "failures")
        self.assertEqual(seen.requests, len(seen.failures))

    def test_polls_of_readiness(self) -> None:
        with self.serving(200, 503, 200, 0) as server:
            url = f"https://127.0.0.1:{server.server_port}"
            with poll.poll_api(url) as seen:
                wait.until(lambda: server.requests, lambda n: n > 8, 30, "requests")
        failures = [*seen.answers.failures, *seen.readiness.failures]
        self.assertEqual(2, len(failures))
        self.assertLessEqual(server.requests, server.connections)


class LostConnectionTest(unittest.TestCase):
    def test_a_connection_that_nobody_accepts_is_tried_again_soon(self) -> None:
        """As while a virtual IP moves: the kernel itself tries again after a second."""
        with socket.socket() as full, contextlib.ExitStack() as waiting:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            for _ in range(2):  # nobody accepts them, and there is no room for another one
                client = waiting.enter_context(socket.socket())
                client.setblocking(False)
                client.connect_ex(full.getsockname())
            with (
                mock.patch.object(poll, "log"),
                poll.keep_asking("https://127.0.0.1:{1}".format(*full.getsockname())) as seen,
            ):
                wait.until(lambda: seen.most_in_a_row, lambda n: n > 1, 30, "failures")
        self.assertLess(seen.longest / len(seen.failures), 1)
