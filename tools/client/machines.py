"""Machines reached through SSH: commands, files, and their Docker engines."""

import contextlib
import json
import logging
import socketserver
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import paramiko

from tools.client import wait
from tools.client.config import CONFIG
from tools.client.errors import ClientError

# Seconds. An earlier machine's entry for the address stays in the neighbour table for ten seconds.
_CONNECT_LIMIT = 30
# As the administrator of a control-plane node, past the proxy that an image may give to sudo.
KUBECTL = "sudo env --unset=HTTPS_PROXY kubectl --kubeconfig /etc/kubernetes/admin.conf"
# Printed by each command first: before it stands what the login's shell prints of its own.
_BEGIN = "begin-of-the-output"
_SHOW_BOOT_ID = "cat /proc/sys/kernel/random/boot_id"

# Booting machines break connections: the log of the steps is enough.
logging.getLogger("paramiko.transport").setLevel(logging.CRITICAL)


@dataclass(frozen=True)
class Remote:
    """A machine with password login."""

    address: str
    password: str = field(default_factory=lambda: CONFIG.password)

    @contextlib.contextmanager
    def _client(self) -> Iterator[paramiko.SSHClient]:
        client = self._log_in()
        try:
            yield client
        finally:
            client.close()

    def _log_in(self, attempts: int = 2) -> paramiko.SSHClient:
        client = paramiko.SSHClient()
        # The machines are those of tests: an address goes to another machine within a run, when
        # a machine is healed, so that the first key of an address tells nothing of the next.
        client.set_missing_host_key_policy(paramiko.AutoAddPolicy())  # noqa: S507
        try:
            client.connect(
                self.address,
                username=CONFIG.username,
                password=self.password,
                timeout=_CONNECT_LIMIT,
                look_for_keys=False,
                allow_agent=False,
            )
        except paramiko.SSHException as error:
            client.close()
            # One key exchange in ten thousand fails; the drivers try again, too.
            if attempts == 1 or isinstance(error, paramiko.AuthenticationException):
                raise
            return self._log_in(attempts - 1)
        return client

    def run(self, command: str, check: bool = True) -> str:
        """Run a shell command; returns its standard output."""
        with self._client() as client:
            return self._run(client, command, check)

    def _run(self, client: paramiko.SSHClient, command: str, check: bool = True) -> str:
        _, stdout, stderr = client.exec_command(f"echo {_BEGIN}; {command}", timeout=300)
        output, errors = stdout.read().decode(), stderr.read().decode()
        status = stdout.channel.recv_exit_status()
        if check and status:
            raise ClientError(f"{self.address}: {command}: status {status}: {errors}")
        return str(output.partition(f"{_BEGIN}\n")[2])

    @contextlib.contextmanager
    def ssh_stopped(self) -> Iterator[None]:
        """Stop sshd during the block; the login that stops and starts sshd stays open."""
        with self._client() as client:
            self._run(client, "sudo systemctl stop ssh")
            try:
                yield
            finally:
                self._run(client, "sudo systemctl start ssh")

    def put(self, file: Path, name: str) -> None:
        """Copy a file into the login user's folder."""
        with self._client() as client, client.open_sftp() as sftp:
            sftp.put(str(file), name)

    def cut_power(self) -> None:
        """Power the machine off immediately, without stopping its services."""
        self.run("sudo systemctl --force --force poweroff", check=False)
        self.await_shutdown()

    def journal(self) -> str:
        return self.run("sudo journalctl --no-pager")

    def has_address(self, address: str) -> bool:
        return f" {address}/" in self.run("ip -4 -o address show")

    def await_login(self, limit: float = 300) -> None:
        wait.until(self._boot_id, _is_boot_id, limit, f"SSH to {self.address}")

    def await_shutdown(self, limit: float = 60) -> None:
        """Wait until logins fail."""
        what = f"the shutdown of {self.address}"
        wait.until(self._boot_id, lambda answer: not _is_boot_id(answer), limit, what)

    def reboot(self, limit: float = 300) -> None:
        """Reboot a machine that has a kernel of its own, and wait for a login after that."""
        before = self.run(_SHOW_BOOT_ID)
        self.run("sudo systemctl reboot", check=False)

        def rebooted(answer: str) -> bool:
            return _is_boot_id(answer) and answer != before

        wait.until(self._boot_id, rebooted, limit, f"the reboot of {self.address}")

    def _boot_id(self) -> str:
        """Read the id of the boot, 36 characters and a line feed; or the error of the login."""
        try:
            return self.run(_SHOW_BOOT_ID)
        except (ClientError, OSError, EOFError, paramiko.SSHException) as error:
            return f"no login: {error!r} (still booting)"

    def allow_plain_http(self, registry: str) -> None:
        """Let the machine's Docker engine use HTTP with a registry (host and port)."""
        settings = json.dumps({"insecure-registries": [registry]})
        self.run(f"echo '{settings}' | sudo tee /etc/docker/daemon.json")
        # The engine reads the file some time after a signal, and loses signals while it starts.
        reload = "sudo systemctl reload docker && sleep 1 && sudo docker info"
        wait.until(lambda: self.run(reload), lambda info: registry in info, 60, "Docker's reload")

    @contextlib.contextmanager
    def docker(self) -> Iterator[docker.DockerClient]:
        """The machine's Docker engine, reached through SSH."""
        with self._client() as ssh, tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "engine.sock"
            server = _Tunnel(str(path), ssh.get_transport())
            threading.Thread(target=server.serve_forever, daemon=True).start()
            client = docker.DockerClient(base_url=f"unix://{path}", timeout=120)
            try:
                yield client
            finally:
                client.close()
                server.shutdown()
                server.server_close()


def _is_boot_id(answer: str) -> bool:
    return len(answer) == 37


class _Tunnel(socketserver.ThreadingUnixStreamServer):
    """Connects each client of a local socket to the engine on the machine."""

    daemon_threads = True

    def __init__(self, path: str, transport: Any) -> None:
        self.transport = transport
        super().__init__(path, _Stream)


class _Stream(socketserver.BaseRequestHandler):
    server: _Tunnel

    def handle(self) -> None:
        channel = self.server.transport.open_session()
        channel.exec_command("sudo docker system dial-stdio")
        back = threading.Thread(target=_pump, args=(channel.recv, self.request.sendall))
        back.start()
        _pump(self.request.recv, channel.sendall)
        channel.shutdown_write()
        back.join()
        channel.close()


def _pump(receive: Any, send: Any) -> None:
    with contextlib.suppress(OSError):
        while data := receive(65536):
            send(data)
