"""Secrets are planted and looked for everywhere: logs, trace, errors, processes."""

import contextlib
import io
import logging
import os
import tempfile
import threading
import unittest
from collections.abc import Iterator
from pathlib import Path

from mgmt_drivers.errors import OperationError
from mgmt_drivers.host.host import Host
from mgmt_drivers.inventory import Node
from mgmt_drivers.operation import Crew, Operation
from mgmt_drivers.params.private_registry import PrivateRegistryParams
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.phases.common.configure_proxy import ConfigureProxy, HasProxy
from mgmt_drivers.secret import Masker, Secret
from mgmt_drivers.ssh.connection import Endpoint, connect
from mgmt_drivers.ssh.hostkeys import HostKeys
from mgmt_drivers.ssh.session import Session
from mgmt_drivers.tests.sshd import sshd
from mgmt_drivers.trace import Trace

PASSWORD = "Plänted 'one' $HOME \"two\" `id`"
PROXY = "http://me:Pl4nted%21@proxy.example.com:3128"
# Told apart from whatever else is on the machine, also where only a part leaks.
TRACES_OF_SECRETS = ("Plänted", "Pl4nted")

# A sudo that wants its password, and commands that say all they are given.
_SUDO = """#!/bin/sh
[ "$1" = -n ] && exit 1
IFS= read -r password
shift 5
[ "$1" = sh ] || exec "$@"
sleep 0.1
{ echo "password $password"; cat; echo; } >&2
exit 7
"""


class CanaryTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        sudo = self.folder / "sudo"
        sudo.write_text(_SUDO)
        sudo.chmod(0o755)
        before = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", before)
        os.environ["PATH"] = f"{self.folder}:{before}"

    def assert_clean(self, where: str, text: str) -> None:
        for secret in TRACES_OF_SECRETS:
            self.assertNotIn(secret, text, where)

    def test_secrets_stay_secret_when_everything_fails(self) -> None:
        params = PrivateRegistryParams(
            "CP1", "ubuntu", Secret(PASSWORD), proxy=Proxy(Secret(PROXY))
        )
        with all_logs() as log, processes() as seen, self.assertRaises(OperationError) as caught:
            self.carry_out(params)
        self.assertIn("proxy", str(caught.exception))
        self.assertIn("password ***", str(caught.exception))
        self.assert_clean("error", str(caught.exception))
        self.assert_clean("cause", repr(caught.exception.__cause__))
        self.assert_clean("log", log.getvalue())
        self.assertIn("sha256sum", log.getvalue())
        self.assert_clean("trace", (self.folder / "trace" / "vnf-1.jsonl").read_text())
        self.assertTrue(any("sha256sum" in text for text in seen), "no command was seen running")
        for text in seen:
            self.assert_clean("process", text)

    def carry_out(self, params: PrivateRegistryParams) -> None:
        with sshd(PASSWORD) as server:

            def log_in(node: Node, limit: float | None) -> Session:
                endpoint = Endpoint(
                    "127.0.0.1", "ubuntu", params.ssh_password, "server-1", server.port
                )
                return connect(endpoint, HostKeys(), Masker(params.secrets()))

            trace = Trace(self.folder / "trace")
            operation: Operation[HasProxy]
            operation = Operation("instantiate", "vnf-1", lambda hosts: params, log_in, trace)
            node = Node("vnfc-1", "VDU1", "server-1", {"CP1": "127.0.0.1"})
            operation.carry_out([Always(services=("docker",))], Crew(required=[node]))


class Always(ConfigureProxy):
    """Acts although looking fails as well."""

    def apply(self, host: Host, params: HasProxy) -> None:
        host.sudo("sh", "-c", "sha256sum", stdin=Secret(PROXY))


@contextlib.contextmanager
def all_logs() -> Iterator[io.StringIO]:
    """Everything that anybody logs, paramiko included, at the finest level."""
    stream = io.StringIO()
    handler, root = logging.StreamHandler(stream), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield stream
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


@contextlib.contextmanager
def processes() -> Iterator[set[str]]:
    """Command lines and environments of all processes, as any moment shows them."""
    seen: set[str] = set()
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            for process in Path("/proc").iterdir():
                for name in ("cmdline", "environ"):
                    with contextlib.suppress(OSError):  # no process, or it has ended meanwhile
                        seen.add((process / name).read_bytes().decode(errors="replace"))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seen
    finally:
        stop.set()
        watcher.join()
