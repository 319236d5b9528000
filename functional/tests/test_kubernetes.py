"""The scenarios' client of a cluster."""

import socket
import threading
import unittest
from pathlib import Path
from unittest import mock

from functional import kubernetes

_NODES = b'{"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": []}'
_ANSWER = b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + _NODES


class ClusterTest(unittest.TestCase):
    def test_a_request_that_nobody_answers_is_sent_again(self) -> None:
        """As when the virtual IP moves."""
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        silent: list[socket.socket] = []

        def serve() -> None:
            silent.append(server.accept()[0])
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(_ANSWER)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        with mock.patch.object(kubernetes, "_REQUEST_LIMIT", 3):
            url = f"http://127.0.0.1:{server.getsockname()[1]}"
            found = kubernetes.Cluster(url, "t0ken", Path("/nowhere")).node_names()
        self.assertEqual(set(), found)
        thread.join()
        silent[0].close()
