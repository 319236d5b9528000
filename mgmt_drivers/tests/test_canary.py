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

from mgmt_drivers.engine.operation import Operation
from mgmt_drivers.engine.phase import on
from mgmt_drivers.errors import OperationError
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine.host import Host
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.registry.registry_params import PrivateRegistryParams
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.secret import Secret
from mgmt_drivers.setup.configure_proxy import ConfigureProxy
from mgmt_drivers.ssh.connection import Endpoint
from mgmt_drivers.testing.fakes import services
from mgmt_drivers.testing.local_sshd import sshd

PASSWORD = "Plänted 'one' $HOME \"two\" `id`"
PROXY = "http://me:Pl4nted%21@proxy.example.com:3128"
# Told apart from whatever else is on the machine, also where only a part leaks.
TRACES_OF_SECRETS = ("Plänted", "Pl4nted")

# A sudo that wants its password, and commands that say all they are given.
_SUDO = """#!/bin/sh
[ "$1" = -n ] && exit 1
IFS= read -r password
shift 7 # also env LC_ALL=C
[ "$1" = bash ] && echo held && exec cat
[ "$1" = sh ] || exec "$@"
sleep 1
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

            def endpoint(node: Node) -> Endpoint:
                password = params.ssh_password
                return Endpoint("127.0.0.1", "ubuntu", password, "server-1", server.port)

            request = LcmRequest("instantiate", "vnf-1", Path(), {}, {})
            given = services(trace_folder=self.folder / "trace")
            node = Node("vnfc-1", "VDU1", "server-1", {"CP1": "127.0.0.1"})
            with Operation(request, given, [node], endpoint, params.secrets()) as operation:
                hosts = operation.connect([node])
                operation.run(None, on(hosts, Always(params.proxy, ("docker",))))


class Always(ConfigureProxy):
    """Acts, in a way that fails, without looking first."""

    def look(self, host: Host, context: object) -> Proxy | None:
        return self._proxy

    def act(self, host: Host, context: object, proxy: Proxy) -> None:
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
