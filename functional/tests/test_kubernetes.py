"""The scenarios' client of a cluster."""

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
        """One that answers the second request; the first stays open, or ends without an answer."""
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)

        def serve() -> None:
            first, _ = server.accept()
            with first:
                if ends:
                    first.recv(65536)
                    first.close()
                second, _ = server.accept()
                with second:
                    second.recv(65536)
                    second.sendall(answer)
                    # A body may still come. A close that leaves it unread resets the connection,
                    # and the answer may be lost by that.
                    second.shutdown(socket.SHUT_WR)
                    while second.recv(65536):
                        pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        self.addCleanup(thread.join, 1)
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
