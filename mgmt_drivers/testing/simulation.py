"""A balanced cluster of simulated machines: what the driver's commands do to it, and no more.

An unknown command fails the test. Faults can be put before or after any command.
"""

import base64
import copy
import hashlib
import io
import json
import sys
import tarfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import yaml

from mgmt_drivers.cluster.certificates.certificates import (
    AUTHORITIES,
    CERTIFICATES,
    KUBELET,
    PROGRAMS,
    RENEWED,
)
from mgmt_drivers.errors import CommandFailed, ConnectionFailed
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh.session import DEFAULT_TIMEOUT, Result, Stdin
from mgmt_drivers.testing.fake_cluster import MASTER_CP, STORAGE_CP, WORKER_CP
from mgmt_drivers.testing.fakes import SUDO, fed, named
from mgmt_drivers.testing.made_certificates import lasting
from mgmt_drivers.testing.simulated_backup import Backups, Saved

MEMBER = f"{STATE_FOLDER}/member"
HELM, HELM_CONFIG = "/usr/local/bin/helm", ".kube/config"
CHARTS = "/var/tacker/helm"
KEEPALIVED = "/etc/keepalived/keepalived.conf"
_KUBELET = "/etc/kubernetes/kubelet.conf"
KUBECONFIG = "~/.kube/config"  # of the login user
_NAMES = ("kube-apiserver", "kube-proxy")  # of images that come with each release
RELEASE = "v1.20.2"
# The newest release that the package repository has of a series.
NEWEST = {"1.20": "1.20.2", "1.36": "1.36.4", "1.37": "1.37.2"}
ACCOUNT_TOKEN = "eyJhbGciOiJSUzI1NiJ9.c2ltdWxhdGVk.c2lnbmF0dXJl"
# What programs use of the certificates. etcd reads its own anew by itself.
_USED = {
    "kube-apiserver": ("apiserver", "apiserver-etcd-client", "front-proxy-client"),
    "kube-controller-manager": ("controller-manager.conf",),
    "kube-scheduler": ("scheduler.conf",),
}
CA_HASH = f"sha256:{'0a' * 32}"
_OK = Result(0)
_NO = Result(1)


def _minor(release: str) -> int:
    return int(release.split(".")[1])


def _is_of_drivers(frame: FrameType) -> bool:
    file = Path(frame.f_code.co_filename)
    return "mgmt_drivers" in file.parts and not {"tests", "testing"} & {*file.parts}


@dataclass
class Machine:
    """What a machine keeps on its disk; ``alive`` tells whether it runs."""

    node: Node
    files: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    images: set[str] = field(default_factory=set)
    packages: set[str] = field(default_factory=set)
    services: set[str] = field(default_factory=set)
    kubeadm: str = RELEASE  # what is installed
    kubelet: str = RELEASE
    running: str = RELEASE  # the kubelet that runs
    apiserver: str = RELEASE  # of the static pods
    free: int = 9000  # MiB of its disk
    sudo_asks: bool = False  # for a password, where nothing can be asked
    container: str = ""  # as docker shows the registry's
    alive: bool = True
    came: bool = False  # since the cluster was built
    interrupted: bool = False  # a transaction of dpkg was broken off
    clock: float = 0.0  # seconds that it is ahead
    # Of a control-plane node: days left and serial number by name, and what programs have in use.
    certificates: dict[str, tuple[float, int]] = field(default_factory=dict)
    programs: dict[str, dict[str, int]] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)  # programs, in their order
    failed: set[str] = field(default_factory=set)  # programs that kubelet waits to start again
    holder: "SimulatedSession | None" = None  # which has it for its operation
    holder_name: str = ""
    backups: dict[str, Saved] = field(default_factory=dict)  # in a folder of its own

    @property
    def role(self) -> str:
        roles = {MASTER_CP: "master", WORKER_CP: "worker", STORAGE_CP: "storage"}
        return next(role for cp, role in roles.items() if cp in self.node.addresses)

    @property
    def name(self) -> str:
        return f"{self.role}-{self.node.server_id.replace('-', '')[:12]}"

    @property
    def address(self) -> str:
        return next(iter(self.node.addresses.values()))

    def certify(self, days: float, *names: str) -> None:
        """Get new certificates; programs go on with what they have."""
        for name in names:
            _, serial = self.certificates.get(name, (0.0, 0))
            self.certificates[name] = (days, serial + 1)

    def start(self, program: str) -> None:
        self.programs[program] = {name: self.certificates[name][1] for name in _USED[program]}

    def outdated(self, program: str) -> list[str]:
        used = self.programs[program]
        return [name for name, serial in used.items() if serial != self.certificates[name][1]]

    @property
    def backends(self) -> list[str]:
        """The servers in its HAProxy's configuration."""
        text = self.files.get("/etc/haproxy/haproxy.cfg", (b"", ""))[0].decode()
        lines = [line.split() for line in text.splitlines()]
        return [words[1] for words in lines if words[:1] == ["server"]]

    @property
    def peers(self) -> list[str]:
        """The other control-plane nodes in its keepalived's configuration."""
        text = self.files.get(KEEPALIVED, (b"", ""))[0].decode()
        return text.partition("unicast_peer {")[2].partition("}")[0].split()


@dataclass
class World:
    """The machines, the cluster's nodes, the members of its etcd, and a volume with its data."""

    machines: dict[str, Machine] = field(default_factory=dict)  # by server id
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    members: list[dict[str, Any]] = field(default_factory=list)
    leader: str = ""  # of etcd; an election makes it the first that is alive
    beheaded: int = 0  # how often etcd's leader was removed while it led
    reset: list[str] = field(default_factory=list)  # machines on which kubeadm was
    drained: list[str] = field(default_factory=list)
    dns: list[str] = field(default_factory=list)  # the nodes of CoreDNS's two pods
    budget: str = ""  # why no pod may be evicted
    unhealthy: set[str] = field(default_factory=set)  # masters whose apiserver is not ready
    formatted: int = 0  # how often the Cinder volume was
    volumes: dict[str, dict[str, Any]] = field(default_factory=dict)  # PersistentVolumes
    claimed: bool = False
    claims: list[dict[str, Any]] = field(default_factory=list)  # PersistentVolumeClaims
    tokens: set[str] = field(default_factory=set)
    certificates: str = ""  # the Secret with which those end that are uploaded, if any are
    accounts: set[str] = field(default_factory=set)  # service accounts that have tokens
    release: str = RELEASE  # of the cluster, as kubeadm keeps it
    repository: str = "registry.k8s.io"  # of its images, as kubeadm keeps it
    kept: dict[str, Any] = field(default_factory=dict)  # the driver's ConfigMap
    checked: list[str] = field(default_factory=list)  # machines whose snapshot was
    backups: dict[str, Saved] = field(default_factory=dict)  # on the volume
    package: dict[str, Saved] = field(default_factory=dict)  # by the bytes of the file
    restored: int = 0  # how often etcd was made of a backup
    # The functions above the command that has the most of them; None while nobody counts.
    deepest: list[str] | None = None
    # Requests that etcd has left without an answer, each once; None when it answers all.
    unanswered: set[tuple[str, ...]] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)  # of holders

    def add(self, node: Node) -> Machine:
        machine = self.machines[node.server_id] = Machine(node)
        return machine

    def join(self, machine: Machine) -> None:
        """As kubeadm does, when nothing comes in between."""
        cidr = f"192.168.{len(self.nodes)}.0/24"
        self.nodes[machine.name] = {
            "metadata": {"name": machine.name, "labels": {"kubernetes.io/os": "linux"}},
            "spec": {"podCIDR": cidr, "taints": []},
        }
        machine.files[_KUBELET] = (b"", "600")
        machine.running, machine.apiserver = machine.kubelet, self.release
        if machine.role == "master":
            urls = {"peerURLs": [f"https://{machine.address}:2380"],
                    "clientURLs": [f"https://{machine.address}:2379"]}
            machine.certify(3650.0, *AUTHORITIES)
            machine.certify(365.0, *RENEWED, KUBELET)
            for program in PROGRAMS:
                machine.start(program)
            number = max((m["ID"] for m in self.members), default=0) + 1
            self.members.append({"ID": number, "name": machine.name, **urls})

    def dns_pods(self) -> dict[str, str]:
        """Their nodes: at first the first one, which also gets those of nodes that are gone."""
        if self.nodes:
            first = next(iter(self.nodes))
            self.dns = [n if n in self.nodes else first for n in self.dns] or [first, first]
        return {f"coredns-{number}": node for number, node in enumerate(self.dns)}

    def move_dns(self, pod: str) -> None:
        """The scheduler prefers a node that has none."""
        pods = self.dns_pods()
        if pod in pods:
            others = [node for node in self.nodes if node not in self.dns]
            self.dns[[*pods].index(pod)] = (others or self.dns)[0]

    def have(self, release: str) -> None:
        """Let the cluster and all machines have a release of Kubernetes."""
        self.release = release
        for machine in self.machines.values():
            machine.kubeadm = machine.kubelet = machine.running = machine.apiserver = release

    def age(self, days: float) -> None:
        """Leave so many days to the certificates of all control-plane nodes; programs use them."""
        for machine in self.machines.values():
            if machine.certificates:
                machine.certify(days, *RENEWED)
                for program in PROGRAMS:
                    machine.start(program)

    def saved(self) -> Saved:
        """What etcd holds, as far as it is simulated, and what it is of."""
        told = {
            "release": self.release, "pod_cidr": "192.168.0.0/16", "cluster_cidr": "10.96.0.0/12",
        }
        held = (self.nodes, self.volumes, self.claimed, self.claims, self.accounts, self.kept)
        return Saved(told, copy.deepcopy(held))

    def restore(self, saved: Saved) -> None:
        held = copy.deepcopy(saved.held)
        (self.nodes, self.volumes, self.claimed, self.claims, self.accounts, self.kept) = held
        self.members, self.restored = [], self.restored + 1

    def machine_of(self, name: str) -> Machine | None:
        return next((m for m in self.machines.values() if m.name == name and m.alive), None)

    def shown(self, name: str) -> dict[str, Any]:
        ready = "True" if self.machine_of(name) else "Unknown"
        conditions = [{"type": "Ready", "status": ready, "message": "kubelet is silent"}]
        machine = next((m for m in self.machines.values() if m.name == name), None)
        info = {"kubeletVersion": machine.running if machine else self.release}
        return {**self.nodes[name], "status": {"conditions": conditions, "nodeInfo": info}}


Fault = Callable[["SimulatedSession", Sequence[str]], None]


class SimulatedSession(Backups):
    """A connection to a machine of the world.

    ``before`` and ``after`` each command, a fault may strike.
    """

    def __init__(self, world: World, machine: Machine, before: Fault, after: Fault) -> None:
        self.world, self.machine = world, machine
        self.before, self.after = before, after
        self.broken = False

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: Stdin = None,
        sudo: bool = False,
        check: bool = True,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Result:
        assert not sudo or argv[0] in SUDO, f"{argv[0]} is not among what may run with sudo"
        if self.world.deepest is not None:
            self._note_depth(self.world.deepest)
        self.before(self, argv)
        if self.broken or not self.machine.alive:
            raise ConnectionFailed(f"{self.machine.address}: connection lost")
        result = self._answer(list(argv), fed(stdin))
        if self._is_left_unanswered(argv):
            result = Result(1, stderr="Error from server: etcdserver: request timed out")
        self.after(self, argv)
        if check and not result.ok:
            raise CommandFailed(" ".join(argv), result.status, result.stderr)
        return result

    def hold(self, argv: Sequence[str], *, timeout: float = DEFAULT_TIMEOUT) -> Result:
        """The machine is this connection's until it ends, however it does."""
        self.before(self, argv)
        if self.broken or not self.machine.alive:
            raise ConnectionFailed(f"{self.machine.address}: connection lost")
        name, _, who, _ = named(argv)
        assert name == "hold-lock", argv
        with self.world.lock:
            holder = self.machine.holder
            if holder and not holder.broken:
                return Result(75, stderr=self.machine.holder_name)
            self.machine.holder, self.machine.holder_name = self, who
        self.after(self, argv)
        return Result(0, "held\n")

    def hide(self, *secrets: Secret) -> None:
        """Errors of the simulation quote nothing."""

    def close(self) -> None:
        self.broken = True

    def _note_depth(self, deepest: list[str]) -> None:
        """Functions of the drivers from the hook to here, across the threads, and this command."""
        threads = {threading.get_ident(), threading.main_thread().ident}
        frames = [frame for ident, frame in sys._current_frames().items() if ident in threads]
        names = ["the command"]
        while frames:
            frame = frames.pop()
            if _is_of_drivers(frame):
                names.append(f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}")
            frames += [frame.f_back] if frame.f_back else []
        self.world.deepest = max(deepest, names, key=len)

    def _is_left_unanswered(self, argv: Sequence[str]) -> bool:
        """Done, and yet not answered: the worst that an election does to a request."""
        asks = argv[0] == "kubectl" and "/readyz" not in argv
        if self.world.unanswered is None or not (asks or {"remove", "upload-certs"} & {*argv}):
            return False
        asked = (self.machine.address, *argv[-8:])  # what is before differs each time
        if asked in self.world.unanswered:
            return False
        self.world.unanswered.add(asked)
        return True

    def _answer(self, argv: list[str], stdin: bytes) -> Result:
        program = argv[0].rpartition("/")[2].replace("-", "_").replace(".", "_")
        handler = getattr(self, f"_{program}", None)
        if handler is None:
            raise AssertionError(f"the simulation does not know {argv}")
        result: Result = handler(argv[1:], stdin)
        return result

    # What machines have of themselves.

    def _sh(self, words: list[str], stdin: bytes) -> Result:
        """A script, by its name; or one that the machine has, by its path."""
        if words[0] != "-c":
            if words[0] not in self.machine.files:
                return Result(127, stderr=f"{words[0]}: No such file or directory")
            name = words[0].rpartition("/")[2].removesuffix(".sh")
            return self._answer([name, *words[1:]], stdin)
        return self._answer(words[2:], stdin)

    def _has_program(self, words: list[str], stdin: bytes) -> Result:
        return _NO

    def _describe_machine(self, words: list[str], stdin: bytes) -> Result:
        paths = [path for path in self.machine.files if path.startswith(words[0])]
        notes = [path.rpartition("/")[2] for path in paths]
        return Result(0, "\n".join(["none", "", *notes, ".", "", "ID=debian", "VERSION_ID=12", ""]))

    def _set_conntrack(self, words: list[str], stdin: bytes) -> Result:
        return _OK

    def _find_disk(self, words: list[str], stdin: bytes) -> Result:
        return Result(0, "/dev/disk/by-id/virtio-1\n")

    def _read_file(self, words: list[str], stdin: bytes) -> Result:
        return Result(0, self.machine.files.get(words[0], (b"", ""))[0].decode())

    def _digest_files(self, words: list[str], stdin: bytes) -> Result:
        if not self.machine.files.keys() >= {*words}:
            return _NO
        found = [self.machine.files[path] for path in words]
        lines = [f"{hashlib.sha256(content).hexdigest()}  -\n{mode}\n" for content, mode in found]
        return Result(0, "".join(lines))

    def _write_files(self, words: list[str], stdin: bytes) -> Result:
        for path, mode, size in zip(words[::3], words[1::3], words[2::3], strict=True):
            content, stdin = stdin[: int(size)], stdin[int(size) :]
            self.machine.files[path] = (content, f"{int(mode, 8):o}")
        assert not stdin, "more came than the lengths say"
        return _OK

    def _show_unit(self, words: list[str], stdin: bytes) -> Result:
        unit, pending, *paths = words
        if unit not in self.machine.services or pending in self.machine.files:
            return _NO
        return self._digest_files(paths, b"")

    def _apply_unit(self, words: list[str], stdin: bytes) -> Result:
        unit, pending = words
        self.machine.services.add(unit)
        del self.machine.files[pending]
        return _OK

    def _test(self, words: list[str], stdin: bytes) -> Result:
        return _OK if words[0] == "-b" or words[1] in self.machine.files else _NO

    def _rm(self, words: list[str], stdin: bytes) -> Result:
        for path in words:
            self.machine.files.pop(path, None)
        return _OK

    def _chmod(self, words: list[str], stdin: bytes) -> Result:
        return _OK

    def _mv(self, words: list[str], stdin: bytes) -> Result:
        self.machine.files[words[1]] = self.machine.files.pop(words[0])
        return _OK

    def _ip(self, words: list[str], stdin: bytes) -> Result:
        own = {"local": self.machine.address, "prefixlen": 24}
        return Result(0, json.dumps([{}, {"ifname": "eth0", "mtu": 1442, "addr_info": [own]}]))

    def _stat(self, words: list[str], stdin: bytes) -> Result:
        return Result(0, "cgroup2fs\n")

    def _df(self, words: list[str], stdin: bytes) -> Result:
        return Result(0, f"Avail\n {self.machine.free}\n {self.machine.free}\n")

    def _through_proxy(self, words: list[str], stdin: bytes) -> Result:
        assert words[0] in self.machine.files, f"{self.machine.name} has no {words[0]}"
        return self._answer(words[1:], stdin)

    def _flock(self, words: list[str], stdin: bytes) -> Result:
        return self._answer(words[1:], stdin)

    # Helm; charts are kept as a file of their folder's name.

    def _sudo(self, words: list[str], stdin: bytes) -> Result:
        if self.machine.sudo_asks:
            return Result(1, stderr="sudo: a password is required")
        return self._answer(words[2:], stdin)

    def _true(self, words: list[str], stdin: bytes) -> Result:
        return _OK

    def _id(self, words: list[str], stdin: bytes) -> Result:
        return Result(0, "1000\n")

    def _unpack_helm(self, words: list[str], stdin: bytes) -> Result:
        if hashlib.sha256(stdin).hexdigest() != words[1]:
            return Result(1, stderr="the archive is another")
        with tarfile.open(fileobj=io.BytesIO(stdin)) as archive:
            program = archive.extractfile(words[0])
            assert program
            self.machine.files[HELM] = (program.read(), "755")
        return _OK

    def _install_helm_sh(self, words: list[str], stdin: bytes) -> Result:
        self.machine.files[HELM] = (b"of a script", "755")
        return _OK

    def _write_kubeconfig(self, words: list[str], stdin: bytes) -> Result:
        assert words == [str(len(stdin))], words
        before = self.machine.files.get(HELM_CONFIG)
        self.machine.files[HELM_CONFIG] = (stdin, "600")
        return _OK if before == (stdin, "600") else Result(0, "changed\n")

    def _helm(self, words: list[str], stdin: bytes) -> Result:
        if HELM not in self.machine.files and "helm" not in self.machine.packages:
            return Result(127, stderr="helm: command not found")
        config = json.loads(self.machine.files[HELM_CONFIG][0])
        token = config["users"][0]["user"]["token"]
        return _OK if token == ACCOUNT_TOKEN else Result(1, stderr="Unauthorized")

    def _pack_folder(self, words: list[str], stdin: bytes) -> Result:
        return Result(0, self.machine.files.get(words[0], (b"", ""))[0].decode())

    def _unpack_folder(self, words: list[str], stdin: bytes) -> Result:
        assert words[1] == str(len(stdin)), words
        self.machine.files[words[0]] = (stdin, "755")
        return _OK

    def _date(self, words: list[str], stdin: bytes) -> Result:
        return Result(0, f"{1_000_000 + self.machine.clock}\n")

    def _env(self, words: list[str], stdin: bytes) -> Result:
        if "dpkg" in words:
            self.machine.interrupted = False
            return _OK
        if self.machine.interrupted:
            return Result(100, stderr="E: dpkg was interrupted")
        if words[-1].endswith("install_k8s_cluster.sh"):
            settings = dict(word.split("=", 1) for word in words[:-1])
            extra = settings["EXTRA_PACKAGES"].split()
            self.machine.packages |= {"kubeadm", "containerd", *extra}
            wanted = settings["KUBERNETES_VERSION"]
            release = f"v{NEWEST.get(wanted, wanted)}"
            self.machine.kubeadm = release
            if "KUBERNETES_PACKAGES" not in settings:
                self.machine.kubelet = release
        else:
            self.machine.packages |= set(words)
        return _OK

    def _python3(self, words: list[str], stdin: bytes) -> Result:
        """The registries are asked: those that the machine was told of are fine.

        Or an image is fetched.
        """
        if isinstance(json.loads(stdin), dict):
            return Result(0, "Loaded image: registry:2\n")
        told = [path for path in self.machine.files if path.startswith("/etc/containerd/certs.d")]
        answers = [None if any(q["url"].partition("//")[2] in path for path in told) else "unknown"
                   for q in json.loads(stdin)]
        return Result(0, json.dumps(answers))

    def _show_certificates(self, words: list[str], stdin: bytes) -> Result:
        made, text = self.machine.certificates, ""
        for path in words:
            if path in self.machine.files or CERTIFICATES.get(path) in made:
                text += f"{path}\n"
            if CERTIFICATES.get(path) in made:
                text += lasting(*made[CERTIFICATES[path]])
        return Result(0, text)

    def _programs(self, words: list[str], stdin: bytes) -> Result:
        machine, (verb, _, *names) = self.machine, words
        assert (*names,) == PROGRAMS, names
        running = [name for name in names if name in machine.programs]
        shown = "".join(f"{name} {machine.ended.count(name)}\n" for name in running)
        if verb == "end":
            machine.ended += running
            machine.programs.clear()
            machine.failed |= {*running}  # kubelet waits
        elif machine.certificates:  # of a machine that has joined
            for program in names:
                if program not in {*running, *machine.failed}:
                    machine.start(program)  # a moment later
        return Result(0, shown)

    def _dpkg_query(self, words: list[str], stdin: bytes) -> Result:
        return Result(0, "".join(f"installed {name}\n" for name in self.machine.packages))

    def _systemctl(self, words: list[str], stdin: bytes) -> Result:
        action, unit = words[0], words[-1]
        if action == "is-active":
            return _OK if unit in self.machine.services else _NO
        if action == "stop":
            self.machine.services.discard(unit)
        elif action in ("restart", "reload-or-restart"):
            self.machine.services.add(unit)
        if unit == "kubelet" and action == "restart":
            assert _minor(self.machine.kubelet) <= _minor(self.world.release), "kubelet leads"
            self.machine.running = self.machine.kubelet
            self.machine.failed.clear()
        return _OK

    def _timeout(self, words: list[str], stdin: bytes) -> Result:
        return _OK  # the virtual IP answers

    def _check_haproxy(self, words: list[str], stdin: bytes) -> Result:
        return _OK

    def _iptables(self, words: list[str], stdin: bytes) -> Result:
        return _OK

    # The private registry.

    def _docker(self, words: list[str], stdin: bytes) -> Result:
        machine, (verb, *rest) = self.machine, words
        if words[:2] == ["image", "inspect"]:
            return _OK if rest[-1] in machine.images else _NO
        if words[:2] == ["container", "inspect"]:
            return Result(0, machine.container) if machine.container else Result(1, "[]")
        if verb in ("tag", "pull"):
            machine.images.add(rest[1])
        if verb == "run":
            name, _, value = rest[rest.index("--label") + 1].partition("=")
            labels = {"Config": {"Labels": {name: value}}, "State": {"Running": True}}
            machine.container = json.dumps([labels])
        return _OK

    def _ss(self, words: list[str], stdin: bytes) -> Result:
        return _OK

    def _ask_registry(self, words: list[str], stdin: bytes) -> Result:
        wanted = "401" if "/etc/private_registry/htpasswd" in self.machine.files else "200"
        return Result(0, f"HTTP/1.0 {wanted} as is right\r\n")

    # The storage server's volume.

    def _blkid(self, words: list[str], stdin: bytes) -> Result:
        return Result(0, "UUID=u-1\nTYPE=ext4\n") if self.world.formatted else Result(2)

    def _dd(self, words: list[str], stdin: bytes) -> Result:
        return _OK

    def _wipefs(self, words: list[str], stdin: bytes) -> Result:
        return _OK

    def _mkfs_ext4(self, words: list[str], stdin: bytes) -> Result:
        self.world.formatted += 1
        return _OK

    def _findmnt(self, words: list[str], stdin: bytes) -> Result:
        return Result(0, "u-1\n") if f"mounted {words[-1]}" in self.machine.files else _NO

    def _mkdir(self, words: list[str], stdin: bytes) -> Result:
        return _OK

    def _give_folder(self, words: list[str], stdin: bytes) -> Result:
        return _OK

    def _give_kubeconfig(self, words: list[str], stdin: bytes) -> Result:
        assert self.machine.role == "master", self.machine.name
        assert self.machine.name in self.world.nodes, f"{self.machine.name} has no admin.conf"
        known = self.machine.files.get(KUBECONFIG)
        self.machine.files[KUBECONFIG] = (b"", "600")
        return Result(0, "unchanged\n" if known else "changed\n")

    def _mount(self, words: list[str], stdin: bytes) -> Result:
        assert b"UUID=u-1 " + words[0].encode() in self.machine.files["/etc/fstab"][0]
        self.machine.files[f"mounted {words[0]}"] = (b"", "")
        return _OK

    def _exportfs(self, words: list[str], stdin: bytes) -> Result:
        text = self.machine.files.get("/etc/exports.d/mgmt-driver.exports", (b"", ""))[0].decode()
        mounted = "mounted /volume" in self.machine.files
        return Result(0, "\n".join(text.splitlines()[1:]) if mounted else "")

    # Images and etcd, in containers.

    def _ctr(self, words: list[str], stdin: bytes) -> Result:
        words = words[2:]
        if words[:2] == ["images", "pull"]:
            self.machine.images.add(words[-1])
        if words[0] == "images":
            return Result(0, "\n".join(self.machine.images))
        return self._in_image(words[-4:])

    def _in_container(self, words: list[str], stdin: bytes) -> Result:
        assert words[1] == "etcd", words
        return self._etcdctl([word for word in words[2:] if not word.startswith("--")])

    def _etcdctl(self, words: list[str]) -> Result:
        members = self.world.members
        if words[1:3] == ["member", "list"]:
            return Result(0, json.dumps({"members": members}))
        if words[1:3] == ["endpoint", "status"]:
            alive = [m["ID"] for m in members if self.world.machine_of(m["name"])]
            status = [
                {"Status": {"header": {"member_id": number}, "leader": self._leader()}}
                for number in alive
            ]
            return Result(0 if len(alive) == len(members) else 1, json.dumps(status))
        if words[1:3] == ["member", "remove"]:
            self.world.beheaded += words[3] == f"{self._leader():x}"
            self.world.members = [m for m in members if f"{m['ID']:x}" != words[3]]
            if len(self.world.members) == len(members):
                return Result(1, stderr="Error: etcdserver: member not found")
            return _OK
        if words[:3] == ["etcdutl", "snapshot", "status"]:
            assert words[3] in self.machine.files, words
            self.world.checked.append(self.machine.name)
            return _OK
        if words[1] == "snapshot":
            self.machine.files[words[3]] = (b"all", "644")
            return _OK
        if words[1] == "move-leader":
            (successor,) = (m["name"] for m in members if f"{m['ID']:x}" == words[2])
            self.world.leader = successor
            return _OK
        raise AssertionError(f"the simulation does not know {words}")

    def _leader(self) -> int:
        """The id of etcd's leader."""
        alive = {m["name"]: m["ID"] for m in self.world.members if self.world.machine_of(m["name"])}
        if self.world.leader not in alive:
            self.world.leader = next(iter(alive))
        return int(alive[self.world.leader])

    # Kubernetes.

    def _kubeadm(self, words: list[str], stdin: bytes) -> Result:
        if words[0] == "version":
            return Result(0, f"{self.machine.kubeadm}\n")
        if words[:2] == ["config", "images"]:
            images = [f"r/{name}:{self.machine.kubeadm}" for name in _NAMES]
            return Result(0, "\n".join([*images, "r/etcd:3.6.8-0", "r/pause:3.2\n"]))
        if words[0] == "upgrade":
            return self._upgraded(words[1:])
        if words[:3] == ["certs", "renew", "all"]:
            self.machine.certify(365.0, *RENEWED)
            return _OK
        if words[:2] == ["token", "create"]:
            made = next(yaml.safe_load_all(stdin))["bootstrapTokens"][0]["token"]
            self.world.tokens.add(made.partition(".")[0])
            return Result(0, f"kubeadm join --discovery-token-ca-cert-hash {CA_HASH}\n")
        if "upload-certs" in words:
            self.world.certificates = "bootstrap-token-0wner0"
        return _OK

    def _upgraded(self, words: list[str]) -> Result:
        machine, world = self.machine, self.world
        assert f"r/kube-proxy:{machine.kubeadm}" in machine.images, "an image is missing"
        if words[0] == "apply":
            assert words[1] == machine.kubeadm
            if _minor(machine.kubeadm) - _minor(world.release) not in (0, 1):
                return Result(1, stderr="the skew is too great")
            world.release = machine.kubeadm
        elif world.release != machine.kubeadm:
            return Result(1, stderr=f"the cluster has {world.release}")
        if machine.role == "master":
            machine.apiserver = world.release
            machine.certify(365.0, *RENEWED)
            for program in PROGRAMS:
                machine.start(program)
        return _OK

    _bash = _sh

    def _run_kubeadm(self, words: list[str], stdin: bytes) -> Result:
        """kubeadm makes a cluster or joins it, or is reset."""
        machine, world = self.machine, self.world
        if words[3] == "reset":
            return self._reset()
        if MEMBER in machine.files:
            return _OK
        if words[3] == "init":
            if "restore-etcd" in words:
                self._laid_down(words[words.index("restore-etcd") + 1 :])
            world.join(machine)
            machine.files[MEMBER] = (b"", "644")
            return _OK
        if machine.name in world.nodes:
            return Result(1, stderr=f"a Node with name {machine.name} exists")
        urls = {url for member in world.members for url in member["peerURLs"]}
        if f"https://{machine.address}:2380" in urls:
            return Result(1, stderr="etcd has a member at this address")
        join = yaml.safe_load(stdin)
        if join["discovery"]["bootstrapToken"]["token"].partition(".")[0] not in world.tokens:
            return Result(1, stderr="the token is not known")
        if join["discovery"]["bootstrapToken"]["caCertHashes"] != [CA_HASH]:
            return Result(1, stderr="the CA is another")
        if "controlPlane" in join and not world.certificates:
            return Result(1, stderr="no certificates are uploaded")
        world.join(machine)
        machine.files[MEMBER] = (b"", "644")
        return _OK

    def _reset(self) -> Result:
        name = self.machine.name
        members = {member["name"] for member in self.world.members}
        assert name not in members, "etcd has its member"
        for path in (MEMBER, _KUBELET):
            self.machine.files.pop(path, None)
        self.world.reset.append(name)
        return _OK

    def _kubectl(self, words: list[str], stdin: bytes) -> Result:
        own = {f"https://{address}:6443" for address in ("127.0.0.1", self.machine.address)}
        if own & {*words} and self.machine.name in self.world.unhealthy:
            return Result(1, stderr="etcd failed")
        if "/readyz" in words:
            return Result(0, "ok")
        verb, *rest = words[6:]
        if verb == "apply":
            self._applied(stdin)
            return Result(0, "object configured\n")
        done: Result = getattr(self, f"_kubectl_{verb}")(rest)
        return done

    def _applied(self, stdin: bytes) -> None:
        for document in yaml.safe_load_all(stdin):
            if document.get("metadata", {}).get("name") == "tacker-mgmt-drivers":
                self.world.kept = document
            if document["kind"] == "Secret":
                self.world.accounts.add(document["metadata"]["name"])
            for item in document.get("items", ()):
                known = self.world.volumes.setdefault(item["metadata"]["name"], item)
                assert known == item, "its server is immutable"

    def _kubectl_get(self, words: list[str]) -> Result:
        world = self.world
        if words[0] == "nodes":
            return Result(0, json.dumps({"items": [world.shown(name) for name in world.nodes]}))
        if words[:2] == ["configmap", "kubeadm-config"]:
            config = {"kubernetesVersion": world.release, "imageRepository": world.repository}
            return Result(0, json.dumps({"data": {"ClusterConfiguration": yaml.safe_dump(config)}}))
        if words[0] == "configmap":
            return Result(0, json.dumps(world.kept)) if world.kept else _OK
        if words[:2] == ["secret", "kubeadm-certs"] and world.certificates:
            owners = [{"kind": "Secret", "name": world.certificates}]
            return Result(0, json.dumps({"metadata": {"ownerReferences": owners}}))
        if words[0] == "secret" and words[1] not in world.accounts:
            return _OK
        if words[0] == "secret":
            token = base64.b64encode(ACCOUNT_TOKEN.encode()).decode()
            return Result(0, json.dumps({"data": {"token": token, "ca.crt": "Yw=="}}))
        if words[0] == "persistentvolumes":
            return Result(0, json.dumps({"items": self._volumes()}))
        if words[0] == "persistentvolumeclaims":
            return Result(0, json.dumps({"items": world.claims}))
        return Result(0, json.dumps({"items": self._pods(words)}))

    def _pods(self, words: list[str]) -> list[dict[str, Any]]:
        if "--all-namespaces" in words:
            return []
        if "k8s-app=kube-dns" in words:
            return self._dns_pods()
        name = words[-3].partition("=")[2]
        components = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
        ready = "True" if self.world.machine_of(name) else "False"
        return [
            {
                "metadata": {"labels": {"component": component}},
                "status": {"conditions": [{"type": "Ready", "status": ready}]},
            }
            for component in components
        ]

    def _dns_pods(self) -> list[dict[str, Any]]:
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        return [
            {"metadata": {"name": name}, "spec": {"nodeName": node}, "status": ready}
            for name, node in self.world.dns_pods().items()
        ]

    def _volumes(self) -> list[dict[str, Any]]:
        phase = {"phase": "Bound" if self.world.claimed else "Available"}
        return [{**volume, "status": phase} for volume in self.world.volumes.values()]

    def _kubectl_patch(self, words: list[str]) -> Result:
        patch = json.loads(words[-1])
        if words[0] == "persistentvolume":
            known = self.world.volumes
            return _OK if words[1] in known else Result(1, stderr="Error from server (NotFound)")
        if words[0] == "configmap":
            config = yaml.safe_load(patch["data"]["ClusterConfiguration"])
            self.world.repository = config["imageRepository"]
            return _OK
        node = self.world.nodes[words[1]]
        for place, changes in (
            (node["metadata"].setdefault("annotations", {}), patch["metadata"]["annotations"]),
            (node["spec"], patch["spec"]),
        ):
            for key, value in changes.items():
                place.pop(key, None)
                place |= {} if value is None else {key: value}
        return _OK

    def _kubectl_drain(self, words: list[str]) -> Result:
        if self.world.budget:
            return Result(1, stderr=self.world.budget)
        self.world.drained.append(words[0])
        return _OK

    def _kubectl_delete(self, words: list[str]) -> Result:
        kinds = {"node": self.world.nodes, "persistentvolume": self.world.volumes}
        for name in words[1:]:
            kinds.get(words[0], {}).pop(name, None)
        if words[0] == "pod":
            self.world.move_dns(words[1])
        if words[0] == "secret":
            self.world.tokens -= {name.rpartition("-")[2] for name in words[1:]}
            if {"kubeadm-certs", self.world.certificates} <= set(words):
                self.world.certificates = ""
        return _OK

    def _kubectl_label(self, words: list[str]) -> Result:
        node = self.world.nodes[words[1]]
        node["metadata"]["labels"] |= dict(word.split("=", 1) for word in words[3:])
        return _OK

    def _kubectl_taint(self, words: list[str]) -> Result:
        key, _, rest = words[3].partition("=")
        value, _, effect = rest.rpartition(":")
        taints = self.world.nodes[words[1]]["spec"]["taints"]
        taint = {"key": key, "value": value, "effect": effect}
        if taint not in taints:
            taints.append(taint)
        return _OK
