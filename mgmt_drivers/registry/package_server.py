"""Serves a folder with packages of bundles over HTTPS; this program runs on the registry's machine.

Its arguments are the folder, the port, and the files of the certificate and its key, which root
alone may read. The program needs Python 3.8 or later, and no other package.
"""

import functools
import http.server
import os
import ssl
import sys

_NOBODY = 65534  # user and group, on Debian and Ubuntu
_LIMIT = 60  # seconds without a byte


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # apt asks for many files by a connection
    timeout = _LIMIT

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is Python's
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Pass over the end of a connection, such as by a client that trusts another CA."""


def serve(folder: str, port: int, certificate: str, key: str) -> Server:
    """Listen; the result serves by ``serve_forever``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    handler = functools.partial(Handler, directory=folder)
    server = Server(("", port), handler)
    # In the thread of a connection, so that a client who sends nothing holds up nobody.
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    return server


if __name__ == "__main__":
    made = serve(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4])
    os.setgroups([])
    os.setgid(_NOBODY)
    os.setuid(_NOBODY)
    made.serve_forever()
