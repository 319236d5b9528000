"""A Server Notifier: the operator's service that tells Tacker of servers that have died."""

import json
import re
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import requests

from tools.client.web import ask

_FAULT_ID = "1234"
_PHYSICAL = "10"  # of the types of faults
_PATH = re.compile(r"/v2/[^/]+/servers/(?P<server>[^/]+)/alarms(?:/(?P<alarm>[^/]+))?")


class ServerNotifier(ThreadingHTTPServer):
    """The URLs for notifications, by the servers that Tacker has registered and their alarms.

    ``params`` are for the additionalParams of a request to instantiate.
    """

    def __init__(self, address: str) -> None:
        super().__init__((address, 0), _Handler)
        self.fault_actions: dict[tuple[str, str], str] = {}
        self.params = {
            "ServerNotifierUri": f"http://{address}:{self.server_port}",
            "ServerNotifierFaultID": [_FAULT_ID],
        }

    @property
    def servers(self) -> list[str]:
        """The ids of the servers that are registered, sorted."""
        return sorted(server for server, _ in self.fault_actions)

    def tell_fault(self, server_id: str) -> None:
        """Tell Tacker of a fault of a server.

        :raises ClientError: if Tacker refuses the notification
        """
        ((alarm, url),) = (
            (alarm, url) for (server, alarm), url in self.fault_actions.items()
            if server == server_id
        )
        fault = {"alarm_id": alarm, "fault_id": _FAULT_ID, "fault_type": _PHYSICAL}
        ask(requests.Session(), "POST", url, json={"notification": fault})


class _Handler(BaseHTTPRequestHandler):
    server: ServerNotifier

    def do_POST(self) -> None:
        match = _PATH.fullmatch(self.path)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not match or match["alarm"] or body["fault_id"] != [_FAULT_ID]:
            self._answer(400)
            return
        alarm = str(uuid.uuid4())
        self.server.fault_actions[match["server"], alarm] = body["fault_action"]
        self._answer(201, {"alarm_id": alarm})

    def do_DELETE(self) -> None:
        match = _PATH.fullmatch(self.path)
        key = (match["server"], match["alarm"]) if match else ("", "")
        self._answer(204 if self.server.fault_actions.pop(key, None) else 404)

    def _answer(self, status: int, body: Any = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        if body:
            self.wfile.write(json.dumps(body).encode())

    def log_message(self, *arguments: object) -> None:
        """Log nothing: stestr would show it as the output of the scenario."""


@contextmanager
def server_notifier(tacker: str) -> Iterator[ServerNotifier]:
    """Serve at the address at which Tacker's host reaches this one.

    :param tacker: URL of Tacker
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((urlsplit(tacker).hostname, 9))  # sends nothing
        address = probe.getsockname()[0]
    with ServerNotifier(address) as notifier:
        threading.Thread(target=notifier.serve_forever, daemon=True).start()
        try:
            yield notifier
        finally:
            notifier.shutdown()
