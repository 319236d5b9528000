"""The client of the cloud's Prometheus, asked while Prometheus starts."""

import threading
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer

from tools.client.monitoring import Prometheus


class Starting(BaseHTTPRequestHandler):
    """A Prometheus that reads what it keeps when it is first asked."""

    asked = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        self.send_response(503 if self.asked == 1 else 200)
        self.end_headers()
        if self.asked > 1:
            self.wfile.write(b'{"data": {"result": [{"value": [0, "0.5"]}]}}')

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class PrometheusTest(unittest.TestCase):
    def test_it_is_asked_again_while_it_starts(self) -> None:
        with HTTPServer(("127.0.0.1", 0), Starting) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            prometheus = Prometheus(f"http://127.0.0.1:{server.server_port}/")
            self.assertEqual(0.5, prometheus.busy_workers("vnf"))
            server.shutdown()
