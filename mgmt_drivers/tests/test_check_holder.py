"""The script by which keepalived asks whether a control-plane node may hold the virtual IP."""

import contextlib
import socket
import subprocess
import threading
import unittest
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from mgmt_drivers.cluster.load_balancer import keepalived

_UNREACHABLE = "192.0.2.1"  # RFC 5737


class Health(BaseHTTPRequestHandler):
    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


class CheckHolderTest(unittest.TestCase):
    def is_good(self, status: int | None, *others: str, listens: bool = True) -> bool:
        """Run the script beside a HAProxy whose health is the status; None: it does not run.

        :param others: addresses; those of the loopback interface answer if ``listens``
        """
        with contextlib.ExitStack() as stack:
            health = str(stack.enter_context(_health(status))) if status else "1"
            port = "1"
            if listens:
                other = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
                port = str(other.getsockname()[1])
            script = keepalived._CHECK_SCRIPT.command(health, port, *others)
            return subprocess.run(script, timeout=30, stderr=subprocess.DEVNULL).returncode == 0

    def test_a_ready_apiserver_is_enough(self) -> None:
        self.assertTrue(self.is_good(200, _UNREACHABLE))

    def test_a_haproxy_that_does_not_run_or_answers_oddly_is_bad(self) -> None:
        self.assertFalse(self.is_good(None, "127.0.0.1"))
        self.assertFalse(self.is_good(500, "127.0.0.1"))

    def test_a_node_that_is_cut_off_is_bad(self) -> None:
        self.assertFalse(self.is_good(503, _UNREACHABLE, _UNREACHABLE))
        self.assertFalse(self.is_good(503, "127.0.0.1", listens=False))

    def test_before_the_first_apiserver_another_node_that_answers_is_enough(self) -> None:
        for others in (("127.0.0.1", _UNREACHABLE), (_UNREACHABLE, "127.0.0.1"), ()):
            self.assertTrue(self.is_good(503, *others), others)

    def test_keepalived_gives_the_script_its_arguments(self) -> None:
        text = keepalived.render("192.0.2.9", "192.0.2.11", "eth0", ["192.0.2.12", "192.0.2.13"], 0)
        words = '/etc/keepalived/check_haproxy.sh 16444 16443 192.0.2.12 192.0.2.13'
        self.assertIn(f'    script "{words}"\n', text)


@contextlib.contextmanager
def _health(status: int) -> Iterator[int]:
    """A server in the place of HAProxy's health; gives its port."""
    handler = type("_", (Health,), {"status": status})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
