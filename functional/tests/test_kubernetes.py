"""The scenarios' client of a cluster."""

import contextlib
import socket
import threading
import unittest
from pathlib import Path
from unittest import mock

from functional import kubernetes

_JSON = b"Content-Type: application/json\r\n\r\n"
_NODES = b'{"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": []}'
_EXISTS = b'{"kind": "Status", "apiVersion": "v1", "reason": "AlreadyExists", "code": 409}'


class ClusterTest(unittest.TestCase):
    """A request that gets no answer is sent again, as when the virtual IP moves."""

    def cluster(self, answer: bytes, *, ends: bool) -> kubernetes.Cluster:
        """One that answers all but the first request: that stays open, or ends unanswered."""
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)

        def serve() -> None:
            first, _ = server.accept()
            with first, contextlib.suppress(OSError):  # the test is over
                if ends:
                    first.recv(65536)
                    first.close()
                while True:
                    _answer(server.accept()[0], answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        self.addCleanup(thread.join, 1)
        self.addCleanup(server.shutdown, socket.SHUT_RDWR)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        return kubernetes.Cluster(url, "t0ken", Path("/nowhere"))

    def test_reading(self) -> None:
        for ends in (False, True):
            with mock.patch.object(kubernetes, "_REQUEST_LIMIT", 3):
                cluster = self.cluster(b"HTTP/1.0 200 OK\r\n" + _JSON + _NODES, ends=ends)
                self.assertEqual(set(), cluster.node_names())

    def test_creating_what_the_first_request_created(self) -> None:
        cluster = self.cluster(b"HTTP/1.0 409 Conflict\r\n" + _JSON + _EXISTS, ends=True)
        kubernetes.create(cluster.core.create_namespaced_pod, {"metadata": {"name": "bare"}})


def _answer(client: socket.socket, answer: bytes) -> None:
    with client, contextlib.suppress(OSError):  # who asks has given up
        client.recv(65536)
        client.sendall(answer)
        # A body may still come. A close that leaves it unread resets the connection, and the
        # answer may be lost by that.
        client.shutdown(socket.SHUT_WR)
        while client.recv(65536):
            pass
