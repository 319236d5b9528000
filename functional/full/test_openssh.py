"""The drivers' SSH connection, against machines whose OpenSSH does what none should."""

import time

from functional.scenario import Scenario
from mgmt_drivers.errors import CommandTimeout, ConnectionFailed, OutputTooLong, WrongHostKey
from mgmt_drivers.secret import Masker, Secret
from mgmt_drivers.ssh.connection import Connection, Endpoint
from mgmt_drivers.ssh.handshake import connect
from mgmt_drivers.ssh.hostkeys import HostKeys, KnownKey
from tools.client import stacks
from tools.client.config import CONFIG
from tools.client.log import log, step
from tools.client.machines import Remote

_TIMEOUT = 5.0  # seconds for a command that is to be given up
# Seconds beyond it: the deadline's own grace, and a busy machine.
_GUARD = 30.0
# The program's parent is the process of sshd that has the connection.
_STOP_SSHD = "kill -STOP $PPID; cat > /dev/null"
_NEW_HOST_KEYS = (
    "sudo rm /etc/ssh/ssh_host_*_key* && sudo ssh-keygen -q -A && sudo systemctl restart ssh"
)
_FINGERPRINT = "ssh-keygen -l -f /etc/ssh/ssh_host_ed25519_key.pub | cut -d ' ' -f 2"


class HostileMachine(Scenario):
    """Nobody waits for ever, nothing is read without end, and nobody takes a machine's place."""

    def setUp(self) -> None:
        super().setUp()
        machines: list[Remote] = self.enter(stacks.machines(self.cloud, ["hostile"]))
        (self.machine,) = machines
        self.host_keys = HostKeys()

    def log_in(
        self, server_id: str = "server-1", password: str = "", known: str = ""
    ) -> Connection:
        secret = Secret(password or self.machine.password)
        keys = (KnownKey.parse(known),) if known else ()
        endpoint = Endpoint(
            self.machine.address, CONFIG.username, secret, server_id, host_keys=keys
        )
        connection = connect(
            endpoint, self.host_keys, Masker([secret]), boot_limit=30.0, login_limit=1.0
        )
        self.addCleanup(connection.close)
        return connection

    def test_output_without_end(self) -> None:
        started = time.monotonic()
        with self.assertRaises(OutputTooLong), step("read what never ends"):
            self.log_in().run(["yes"], timeout=300.0)
        log(f"given up after {time.monotonic() - started:.1f} s")

    def test_machine_that_takes_no_more_data(self) -> None:
        connection, started = self.log_in(), time.monotonic()
        with self.assertRaises((CommandTimeout, ConnectionFailed)), step("send to a stopped sshd"):
            connection.run(["sh", "-c", _STOP_SSHD], stdin=b"x" * 50_000_000, timeout=_TIMEOUT)
        took = time.monotonic() - started
        log(f"given up after {took:.1f} s")
        self.assertLess(took, _TIMEOUT + _GUARD)
        self.assertTrue(self.log_in().run(["true"]).ok)

    def test_host_keys(self) -> None:
        with self.assertRaisesRegex(ConnectionFailed, "refuses the login"):
            self.log_in(password="wr0ng")
        self.assertEqual({}, self.host_keys.as_dict())

        fingerprint = self.machine.run(_FINGERPRINT).strip()
        self.log_in(known=fingerprint)
        self.assertEqual("ssh-ed25519", self.host_keys.type_of("server-1"))

        self.machine.run(_NEW_HOST_KEYS)
        with self.assertRaisesRegex(WrongHostKey, "server-1 was not replaced"):
            self.log_in()
        with self.assertRaisesRegex(WrongHostKey, "not in host_key"):
            self.log_in("server-2", known=fingerprint)
        self.assertEqual(["server-1"], list(self.host_keys.as_dict()))
        self.log_in("server-2", known=self.machine.run(_FINGERPRINT).strip())
