"""An SSH server in this process: real protocol, commands run by the local shell."""

import contextlib
import socket
import subprocess
import threading
from collections.abc import Iterator
from typing import NoReturn

import paramiko
import paramiko.common

from mgmt_drivers.ssh.conversation import BEGIN


class Server(paramiko.ServerInterface):
    """Accepts one user and password, and runs what it is told to."""

    def __init__(self, password: str) -> None:
        self.password = password
        self.attempts = self.logins = 0
        self.tries = 6  # MaxAuthTries
        self.refusals = 0  # so many sessions are still to be refused
        self.goes_deaf = False  # once a command runs
        self.is_silent = False  # when it is to run a command
        self.start_up = ""  # a command that start-up files of the shell run before each other one
        self.floods = False  # in the place of a command, without regard to the window
        self.ended = threading.Event()

    def check_auth_password(self, username: str, password: str) -> int:
        self.attempts += 1
        if (username, password) != ("ubuntu", self.password):
            transport = threading.current_thread()
            assert isinstance(transport, _Transport)
            transport.end_after(self.tries)
            return paramiko.common.AUTH_FAILED
        self.logins += 1
        return paramiko.common.AUTH_SUCCESSFUL

    def get_allowed_auths(self, username: str) -> str:
        return "password"

    def check_channel_request(self, kind: str, chanid: int) -> int:
        if self.refusals:
            self.refusals -= 1
            return paramiko.common.OPEN_FAILED_CONNECT_FAILED
        return paramiko.common.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        if self.is_silent:
            self.ended.wait()
            return False
        told = threading.Event()
        transport = channel.get_transport()
        assert isinstance(transport, _Transport)
        transport.to_tell = told
        if self.goes_deaf:
            transport.packetizer.read_message = self._hear_nothing  # type: ignore[method-assign]
        arguments = (channel, self.start_up + command.decode(), told)
        target = _flood if self.floods else _execute
        threading.Thread(target=target, args=arguments, daemon=True).start()
        return True

    def _hear_nothing(self) -> NoReturn:
        self.ended.wait()
        raise EOFError


class _Transport(paramiko.Transport):
    """Knows when the client has been told that its command runs.

    That is the next message of the transport's own thread: to close the channel before it
    would look like a refusal.
    """

    to_tell: threading.Event | None = None
    failures = 0

    def end_after(self, tries: int) -> None:
        """End the connection after so many wrong logins, as OpenSSH's sshd does."""
        self.failures += 1
        if self.failures >= tries:
            self.auth_handler._disconnect_no_more_auth()  # type: ignore[union-attr]

    def _send_user_message(self, data: paramiko.Message) -> None:
        super()._send_user_message(data)  # type: ignore[misc]
        if self.to_tell and threading.current_thread() is self:
            self.to_tell.set()
            self.to_tell = None


def _flood(channel: paramiko.Channel, command: str, told: threading.Event) -> None:
    told.wait(10)
    transport = channel.get_transport()
    with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
        channel.sendall(f"{BEGIN}\nheld\n".encode())
        for _ in range(1000):
            data = paramiko.Message()
            data.add_byte(paramiko.common.cMSG_CHANNEL_DATA)
            data.add_int(channel.remote_chanid)
            data.add_string(b"x" * 32000)
            transport._send_user_message(data)  # type: ignore[attr-defined]


def _execute(channel: paramiko.Channel, command: str, told: threading.Event) -> None:
    with subprocess.Popen(
        ["sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,  # nothing to flush into a pipe whose reader has ended
    ) as process:
        assert process.stdin and process.stdout and process.stderr

        def feed() -> None:
            assert process.stdin
            with contextlib.suppress(OSError, ValueError):  # it may have ended meanwhile
                while data := channel.recv(32768):
                    process.stdin.write(data)
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
        self.more_keys: list[paramiko.PKey] = []
        self.server = Server(password)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        self.port: int = self._socket.getsockname()[1]
        self.transports: list[paramiko.Transport] = []
        self.algorithms: dict[str, tuple[str, ...]] = {}  # by names of SecurityOptions
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                transport = _Transport(client)
                for key in (self.key, *self.more_keys):
                    transport.add_server_key(key)
                for kind, names in self.algorithms.items():
                    setattr(transport.get_security_options(), kind, names)
                self.transports.append(transport)
                # With an event it does not wait: a client that breaks off would keep the next one
                # waiting.
                transport.start_server(event=threading.Event(), server=self.server)

    def cut(self) -> None:
        """Break every connection."""
        for transport in self.transports:
            transport.close()

    def close(self) -> None:
        # A listening socket that is merely closed does not wake its accept().
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self.server.ended.set()
        self.cut()


@contextlib.contextmanager
def sshd(password: str) -> Iterator[Sshd]:
    server = Sshd(password)
    try:
        yield server
    finally:
        server.close()
