"""Strict stand-ins for what operations are given: connections, Heat, time, and a store."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mgmt_drivers.clock import Clock
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import CommandFailed
from mgmt_drivers.inventory import Address, Contents, Node
from mgmt_drivers.machine.host import Host
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh.session import DEFAULT_OUTPUT, DEFAULT_TIMEOUT, Result, Stdin

# The programs that the drivers run with sudo. Whoever adds one here has thought about what
# it can do as root.
SUDO = {
    "bash", "blkid", "chmod", "chpasswd", "ctr", "dd", "docker", "dpkg-query", "env", "exportfs",
    "findmnt", "flock", "haproxy", "iptables", "kubeadm", "kubectl", "mkdir", "mkfs.ext4", "mount",
    "mv", "python3", "rm", "rmdir", "sh", "ss", "systemctl", "test", "timeout",
    "update-ca-certificates", "wipefs",
}

NODE = Node("vnfc-1", "PrivateRegistryVDU", "server-1", {"CP1": "192.0.2.10"})


class FakeSession:
    """Answers the expected commands in their order and refuses all others.

    An expected command is given by the words it begins with, a script by its name;
    ``stdin`` keeps what each command was fed.
    """

    has_former_login = False

    def __init__(self) -> None:
        self._script: list[tuple[tuple[str, ...], Result, bool]] = []
        self.ran: list[tuple[str, ...]] = []
        self.stdin: list[bytes] = []
        self.commands: list[Sequence[str]] = []  # with scripts whole
        self.held: list[tuple[str, ...]] = []
        self.holder = ""  # who has the machine already
        self.hidden: list[str] = []
        self.closed = 0

    def expect(self, *words: str, status: int = 0, stdout: str = "", stderr: str = "") -> None:
        self._script.append((words, Result(status, stdout, stderr), False))

    def expect_polling(
        self, *words: str, status: int = 0, stdout: str = "", stderr: str = ""
    ) -> None:
        """The command is given any number of times, until another one is."""
        self._script.append((words, Result(status, stdout, stderr), True))

    def expect_new_file(self, path: str) -> None:
        """files.write is to write a file."""
        self.expect("sudo", "write-files", path)

    def expect_control_plane_files(self) -> None:
        """A control-plane node is to get what its apiserver needs, before kubeadm runs."""
        self.expect("sudo", "write-files", "/var/log/kubernetes/audit/", "0700", "0")

    def written(self) -> dict[str, bytes]:
        """The files that were written, also by a step of another command, and their contents."""
        written = {}
        for words, stdin in zip(self.ran, self.stdin, strict=True):
            if "write-files" in words:
                files = words[words.index("write-files") + 1 :]
                for path, size in zip(files[::3], files[2::3], strict=True):
                    written[path], stdin = stdin[: int(size)], stdin[int(size) :]
        return written

    def expect_facts(
        self,
        system: str,
        has_cloud_init: bool = False,
        client: str = "",
        note: str = "",
        cgroups: str = "cgroup2fs",
    ) -> None:
        """Facts about the machine are to be gathered."""
        release = "ID={}\nVERSION_ID={}\n".format(*system.split())
        peers = f"client {client}\n" if client else ""
        program = "cloud-init" if has_cloud_init else "none"
        notes = f"{note}\n" if note else ""
        told = f"{program}\n{cgroups}\n\n{notes}.\n\n{peers}.\n\n{release}"
        self.expect("sudo", "describe-machine", stdout=told)

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: Stdin = None,
        sudo: bool = False,
        check: bool = True,
        timeout: float = DEFAULT_TIMEOUT,
        limit: int = DEFAULT_OUTPUT,
    ) -> Result:
        assert not sudo or argv[0] in SUDO, f"{argv[0]} is not among what may run with sudo"
        words = ("sudo", *named(argv)) if sudo else named(argv)
        expected, result, repeats = self._next(words)
        if words[: len(expected)] != expected:
            raise AssertionError(f"expected {expected}, got {words}")
        if not repeats:
            self._script.pop(0)
        self.ran.append(words)
        self.commands.append(argv)
        self.stdin.append(fed(stdin))
        if check and not result.ok:
            raise CommandFailed(" ".join(words), result.status, result.stderr)
        return result

    def hold(self, argv: Sequence[str], word: str, *, timeout: float = DEFAULT_TIMEOUT) -> Result:
        assert argv[0] in SUDO
        self.held.append(named(argv))
        return Result(75, stderr=self.holder) if self.holder else Result(0, f"{word}\n")

    def _next(self, words: tuple[str, ...]) -> tuple[tuple[str, ...], Result, bool]:
        if self._script and self._script[0][2]:
            polled = self._script[0][0]
            if words[: len(polled)] != polled:
                self._script.pop(0)
        if not self._script:
            raise AssertionError(f"unexpected command: {words}")
        return self._script[0]

    def hide(self, *secrets: Secret) -> None:
        self.hidden += [secret.reveal() for secret in secrets]

    def close(self) -> None:
        self.closed += 1

    def assert_done(self) -> None:
        assert not self._script, f"not run: {self._script}"


def named(argv: Sequence[str]) -> tuple[str, ...]:
    """The words of a command; of a script its name and arguments.

    Of a command that runs without a proxy, the words are those that it has otherwise.
    """
    is_script = argv[0] in ("sh", "bash") and argv[1] == "-c"
    words = tuple(argv[3:] if is_script else argv)
    return named(words[1:]) if words[0] == "without-proxy" else words


def fed(stdin: Stdin) -> bytes:
    """The text that a command reads on its standard input."""
    if isinstance(stdin, Path):
        return stdin.read_bytes()
    if isinstance(stdin, Secret):
        stdin = stdin.reveal()
    return stdin.encode() if isinstance(stdin, str) else stdin or b""


def fake_host() -> tuple[Host, FakeSession]:
    session = FakeSession()
    return Host(NODE, session, FakeClock()), session


class FakeClock(Clock):
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class MemoryStore:
    """Keeps what JSON can hold, as Tacker does."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def load(self, key: str, default: Any) -> Any:
        return json.loads(self.kept[key]) if key in self.kept else default

    def save(self, key: str, value: Any) -> None:
        self.kept[key] = json.dumps(value)

    save_secret = save


class FakeStacks:
    """Heat with stacks of machines; by id, or made at each question."""

    def __init__(self, found: Mapping[str, Contents] | Callable[[str], Contents]) -> None:
        self._find = found if callable(found) else found.__getitem__

    def read_contents(self, stack_id: str, placed: bool) -> Contents:
        return self._find(stack_id)


def stack_of(node: Node) -> Contents:
    """A stack with one machine."""
    addresses = [Address(cp, ip, node.server_id) for cp, ip in node.addresses.items()]
    return Contents(addresses, [node.server_id])


def services(**changes: Any) -> Services:
    return Services(**{"stacks": FakeStacks({}), "store": MemoryStore(), **changes})
