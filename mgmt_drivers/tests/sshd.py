"""An SSH server in this process: real protocol, commands run by the local shell."""

import contextlib
import socket
import subprocess
import threading
from collections.abc import Iterator

import paramiko
import paramiko.common


class Server(paramiko.ServerInterface):
    """Accepts one user and password, and runs what it is told to."""

    def __init__(self, password: str) -> None:
        self.password = password
        self.logins = 0

    def check_auth_password(self, username: str, password: str) -> int:
        if (username, password) != ("ubuntu", self.password):
            return paramiko.common.AUTH_FAILED
        self.logins += 1
        return paramiko.common.AUTH_SUCCESSFUL

    def get_allowed_auths(self, username: str) -> str:
        return "password"

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return paramiko.common.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        threading.Thread(target=_execute, args=(channel, command.decode()), daemon=True).start()
        return True


def _execute(channel: paramiko.Channel, command: str) -> None:
    with subprocess.Popen(
        ["sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,  # nothing to flush into a pipe whose reader has ended
    ) as process:
        assert process.stdin and process.stdout and process.stderr

        # The client speaks (be it that it has no input) once it was told that the
        # command runs: to close the channel before that would look like a refusal.
        told = threading.Event()

        def feed() -> None:
            assert process.stdin
            with contextlib.suppress(OSError):
                while data := channel.recv(32768):
                    told.set()
                    process.stdin.write(data)
            told.set()
            with contextlib.suppress(OSError):
                process.stdin.close()

        def pump(source: object, send: object) -> None:
            with contextlib.suppress(OSError):
                while data := source.read(32768):  # type: ignore[attr-defined]
                    send(data)  # type: ignore[operator]

        threads = [
            threading.Thread(target=feed, daemon=True),
            threading.Thread(target=pump, args=(process.stdout, channel.sendall)),
            threading.Thread(target=pump, args=(process.stderr, channel.sendall_stderr)),
        ]
        for thread in threads:
            thread.start()
        for thread in threads[1:]:
            thread.join()
        status = process.wait()
        told.wait(10)
    with contextlib.suppress(OSError):
        channel.send_exit_status(status)
        channel.close()


class Sshd:
    """A listening server; ``key`` may be changed between connections."""

    def __init__(self, password: str) -> None:
        self.key: paramiko.PKey = paramiko.ECDSAKey.generate()
        self.server = Server(password)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.transports: list[paramiko.Transport] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                transport = paramiko.Transport(client)
                transport.add_server_key(self.key)
                self.transports.append(transport)
                with contextlib.suppress(paramiko.SSHException, EOFError):
                    transport.start_server(server=self.server)

    def cut(self) -> None:
        """Break every connection."""
        for transport in self.transports:
            transport.close()

    def close(self) -> None:
        # A listening socket that is merely closed does not wake its accept().
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self.cut()


@contextlib.contextmanager
def sshd(password: str) -> Iterator[Sshd]:
    server = Sshd(password)
    try:
        yield server
    finally:
        server.close()
