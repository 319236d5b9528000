"""Simulated machines and their cluster: what they keep, whatever happens to connections."""

import copy
import functools
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mgmt_drivers.cluster.certificates.certificates import AUTHORITIES, KUBELET, RENEWED
from mgmt_drivers.cluster.kubeadm.control_plane import PROGRAMS
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.ssh.connection import Endpoint
from mgmt_drivers.ssh.keys import public_half
from mgmt_drivers.ssh.session import Result
from mgmt_drivers.testing.fake_cluster import MASTER_CP, POOL_CP, STORAGE_CP, WORKER_CP
from mgmt_drivers.testing.made_certificates import naming

MEMBER = f"{STATE_FOLDER}/member"  # the beginning of a marker
ETCD_DATA = "/var/lib/etcd/member"
HELM, HELM_CONFIG = "/usr/local/bin/helm", ".kube/config"
CHARTS = "/var/tacker/helm"
KEEPALIVED = "/etc/keepalived/keepalived.conf"
KUBELET_CONF = "/etc/kubernetes/kubelet.conf"
API_CERTIFICATE = "/etc/kubernetes/pki/apiserver.crt"
SYSCTLS = "/etc/sysctl.d/90-kubelet.conf"
NARROW = {role: role for role in ("tacker-vim-cnf", "tacker-vim-added")}  # bindings of Tacker's
ENCRYPTION = "/etc/kubernetes/pki/encryption.yaml"
KEYS = re.compile(r"secret: (\S+)")  # in that file
KUBECONFIG = "~/.kube/config"  # of the login user
IMAGE_NAMES = ("kube-apiserver", "kube-proxy")  # of images that come with each release
RELEASE = "v1.20.2"
# The newest release that the package repository has of a series, at first.
NEWEST = {"1.20": "1.20.2", "1.36": "1.36.4", "1.37": "1.37.2"}
ACCOUNT_TOKEN = "eyJhbGciOiJSUzI1NiJ9.c2ltdWxhdGVk.c2lnbmF0dXJl"
# Certificates that each program reads when it starts; etcd reads its own again by itself.
USED = {
    "kube-apiserver": ("apiserver", "apiserver-etcd-client", "front-proxy-client"),
    "kube-controller-manager": ("controller-manager.conf",),
    "kube-scheduler": ("scheduler.conf",),
}
CA = "the cluster's CA\n"
OK = Result(0)
NO = Result(1)


def arguments_of(server: Mapping[str, Any]) -> dict[str, str]:
    """The arguments of the apiserver by its part in ClusterConfiguration."""
    given = server["extraArgs"]
    if isinstance(given, list):
        given = {argument["name"]: argument["value"] for argument in given}
    return dict(given)


def minor(release: str) -> int:
    return number(release)[1]


def number(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.removeprefix("v").split(".")))


@dataclass(frozen=True)
class Saved:
    """A backup: what it says of itself, and what etcd held."""

    told: Mapping[str, Any]
    held: Any = field(repr=False)
    shown: str = ""  # what the payload show-backup prints of it


@dataclass
class Databases:
    """The databases of etcd's members, in bytes, and the alarms of the cluster."""

    live: int = 8 << 20  # what a compaction leaves
    history: int = 0
    sizes: dict[str, int] = field(default_factory=dict)  # by member, if it has holes
    quota: int = 2 << 30
    tells_quota: bool = False  # etcd 3.6
    releases: dict[str, str] = field(default_factory=dict)  # by member, if not the newest
    revision: int = 1000
    compacted: int = 0
    alarms: list[tuple[int, str]] = field(default_factory=list)  # ids of members, and kinds

    @property
    def in_use(self) -> int:
        return self.live + self.history

    def size(self, name: str) -> int:
        return max(self.sizes.get(name, 0), self.in_use)

    def why_not_written(self, members: Sequence[Mapping[str, Any]]) -> str:
        """The error of a write; the first that finds no space at a member arms the alarm."""
        if any(kind == "CORRUPT" for _, kind in self.alarms):
            return "etcdserver: corrupt cluster"
        full = [(m["ID"], "NOSPACE") for m in members if self.size(m["name"]) >= self.quota]
        self.alarms += [alarm for alarm in full if alarm not in self.alarms]
        return "etcdserver: mvcc: database space exceeded" if self.alarms else ""


class Holder(Protocol):
    """The connection that holds a machine's lock."""

    broken: bool


@dataclass
class Machine:
    """A simulated machine: the state on its disk, and whether it runs (``alive``)."""

    node: Node
    files: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    images: set[str] = field(default_factory=set)
    packages: set[str] = field(default_factory=set)
    services: set[str] = field(default_factory=set)
    kubeadm: str = RELEASE  # what is installed
    kubelet: str = RELEASE
    running: str = RELEASE  # the kubelet that runs
    apiserver: str = RELEASE  # of the static pods
    free: int = 9000  # MiB of its disk, of 20000
    free_inodes: int = 1000  # of 2000
    sync_time: float = 0.8  # ms for its disk to keep a write
    sudo_asks: bool = False  # for a password, where nothing can be asked
    container: str = ""  # as docker shows the registry's
    alive: bool = True
    came: bool = False  # since the cluster was built
    reboots: int | None = None  # that cloud-init is still to make; None without cloud-init
    interrupted: bool = False  # a transaction of dpkg was interrupted
    clock: float = 0.0  # seconds that it is ahead
    left_out: set[str] = field(default_factory=set)  # nodes to which its HAProxy sends nobody
    # On a control-plane node: each certificate's days left and serial number, by name, and the
    # serial numbers that each program uses.
    certificates: dict[str, tuple[float, int]] = field(default_factory=dict)
    programs: dict[str, dict[str, int]] = field(default_factory=dict)
    keys_of_secrets: list[str] = field(default_factory=list)  # that the apiserver has read
    ended: list[str] = field(default_factory=list)  # programs, in their order
    failed: set[str] = field(default_factory=set)  # programs that kubelet waits to start again
    kubelet_runs: bool = True
    etcd_runs: bool = True  # kubelet starts it
    holder: "Holder | None" = None  # of the machine's lock
    holder_name: str = ""
    kubelet_fields: dict[str, Any] = field(default_factory=dict)  # which kubeadm has patched
    backups: dict[str, Saved] = field(default_factory=dict)  # in a folder of its own
    password: str = ""  # of the login user; empty: any
    keys: set[str] = field(default_factory=set)  # public keys of the login user
    refuses: str = ""  # a public key that sshd takes in no case

    def takes(self, endpoint: Endpoint) -> bool:
        """Whether the machine accepts a login."""
        if endpoint.private_key:
            return not self.password or (
                public_half(endpoint.private_key) in self.keys - {self.refuses}
            )
        given = endpoint.password.reveal() if endpoint.password else ""
        return self.password in ("", given)

    @functools.cached_property
    def role(self) -> str:
        roles = {
            MASTER_CP: "master", WORKER_CP: "worker", POOL_CP: "worker", STORAGE_CP: "storage",
        }
        return next(role for cp, role in roles.items() if cp in self.node.addresses)

    @functools.cached_property
    def name(self) -> str:
        return f"{self.role}-{self.node.short_id}"

    @property
    def marker(self) -> str:
        """The file that tells that it is a node."""
        return f"{MEMBER}-{self.node.server_id}"

    @property
    def markers(self) -> list[str]:
        """The markers of the machine, and those that its image brought."""
        return [path for path in self.files if path.startswith(MEMBER)]

    @property
    def address(self) -> str:
        return next(iter(self.node.addresses.values()))

    def certify(self, days: float, *names: str) -> None:
        """Get new certificates; programs go on with what they have."""
        for name in names:
            _, serial = self.certificates.get(name, (0.0, 0))
            self.certificates[name] = (days, serial + 1)

    def start(self, program: str) -> None:
        self.programs[program] = {name: self.certificates[name][1] for name in USED[program]}
        if program == PROGRAMS[0]:
            text = self.files.get(ENCRYPTION, (b"", ""))[0].decode()
            self.keys_of_secrets = KEYS.findall(text)

    def outdated(self, program: str) -> list[str]:
        used = self.programs[program]
        return [name for name, serial in used.items() if serial != self.certificates[name][1]]

    def start_kubelet(self) -> None:
        """Nothing but the API, which does not know it either, gives it another certificate."""
        self.kubelet_runs = self.certificates.get(KUBELET, (1.0, 0))[0] >= 0
        self.running = self.kubelet
        self.failed.clear()
        self.etcd_runs = self.etcd_runs or self.kubelet_runs
        if self.kubelet_runs and self.role == "master" and self.certificates:
            for program in PROGRAMS:
                if program not in self.programs:
                    self.start(program)

    def reboot(self) -> None:
        self.programs.clear()
        self.etcd_runs = False
        self.start_kubelet()

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
    databases: Databases = field(default_factory=Databases)
    defragmented: list[str] = field(default_factory=list)  # members, in their order
    leader: str = ""  # of etcd; an election makes it the first that is alive
    beheaded: int = 0  # how often etcd's leader was removed while it led
    reset: list[str] = field(default_factory=list)  # machines on which kubeadm was
    drained: list[str] = field(default_factory=list)
    dns: list[str] = field(default_factory=list)  # the nodes of CoreDNS's two pods
    dns_broken: dict[str, dict[str, Any]] = field(default_factory=dict)  # status by pod's name
    logs: dict[str, str] = field(default_factory=dict)  # the last line, by pod's name
    budget: str = ""  # why no pod may be evicted
    # Addresses that machines must reach, as each tells them.
    peers: tuple[str, ...] = ("client 203.0.113.5", "nameserver 127.0.0.53", "nameserver 10.0.0.2")
    budgets: list[dict[str, Any]] = field(default_factory=list)  # PodDisruptionBudgets
    pods: list[dict[str, Any]] = field(default_factory=list)  # that do not end when evicted
    unhealthy: set[str] = field(default_factory=set)  # masters whose apiserver is not ready
    formatted: int = 0  # how often the Cinder volume was
    volumes: dict[str, dict[str, Any]] = field(default_factory=dict)  # PersistentVolumes
    claimed: bool = False
    claims: list[dict[str, Any]] = field(default_factory=list)  # PersistentVolumeClaims
    tokens: set[str] = field(default_factory=set)
    encrypting: set[str] = field(default_factory=set)  # keys by which Secrets are encrypted
    certificates: str = ""  # the Secret with which those end that are uploaded, if any are
    # Objects that server-side apply has made, by names such as daemonset.apps/flannel; those that
    # others have changed since; and the definitions of custom resources that are in force.
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    stuck: set[str] = field(default_factory=set)  # workloads among them whose pods do not start
    former: set[str] = field(default_factory=set)  # workloads whose pods have the former template
    # References to claims of volumes among them that another manager than the add-ons' has set.
    held: dict[str, dict[str, Any]] = field(default_factory=dict)
    # Objects that a client-side apply has made instead, each with the time of the last apply,
    # which may be empty.
    client_side: dict[str, str] = field(default_factory=dict)
    established: set[str] = field(default_factory=set)
    late: int = 0  # how often the API does not serve a new kind yet
    accounts: set[str] = field(default_factory=set)  # Secrets with tokens of service accounts
    bindings: dict[str, str] = field(default_factory=dict)  # ClusterRoles of accounts
    revoked: int = 0  # how many accounts were deleted: the next has another UID, and token
    release: str = RELEASE  # of the cluster, as kubeadm keeps it
    validity: float = 365.0  # days, of certificates that kubeadm renews
    api_names: list[str] = field(default_factory=lambda: ["10.10.0.110"])  # as kubeadm keeps them
    settings: dict[str, str] = field(default_factory=dict)  # of its apiservers, if it was told any
    registry_password: str = ""  # of all registries with logins; empty: any
    repository: str = "registry.k8s.io"  # of its images, as kubeadm keeps it
    newest: dict[str, str] = field(default_factory=lambda: dict(NEWEST))  # of each series
    checked: list[str] = field(default_factory=list)  # machines whose snapshot was
    measured: list[str] = field(default_factory=list)  # addresses of machines whose disk was
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
        """Join a machine as kubeadm does, if nothing interrupts it."""
        cidr = f"192.168.{len(self.nodes)}.0/24"
        self.nodes[machine.name] = {
            "metadata": {"name": machine.name, "labels": {"kubernetes.io/os": "linux"}},
            "spec": {"podCIDR": cidr, "taints": []},
        }
        machine.files[KUBELET_CONF] = (b"", "600")
        machine.running, machine.apiserver = machine.kubelet, self.release
        machine.certify(365.0, KUBELET)
        machine.certify(3650.0, AUTHORITIES[0])
        if machine.role == "master":
            machine.files[API_CERTIFICATE] = (naming(*self.api_names), "644")
            urls = {"peerURLs": [f"https://{machine.address}:2380"],
                    "clientURLs": [f"https://{machine.address}:2379"]}
            machine.certify(3650.0, *AUTHORITIES[1:])
            machine.certify(365.0, *RENEWED)
            for program in PROGRAMS:
                machine.start(program)
            number = max((m["ID"] for m in self.members), default=0) + 1
            self.members.append({"ID": number, "name": machine.name, **urls})

    def serves(self, made: Mapping[str, Any]) -> bool:
        """Whether the API serves the kind of an object: its own, and those of definitions."""
        group = made["apiVersion"].partition("/")[0]
        if not group.endswith("example.com"):
            return True
        is_defined = any(name.endswith(f".{group}") for name in self.established)
        self.late -= is_defined
        return is_defined and self.late < 0

    def dns_pods(self) -> dict[str, str]:
        """The nodes of the pods: at first the first node, which also gets pods of lost nodes."""
        placed = self.dns
        if self.nodes:
            first = next(iter(self.nodes))
            known = {"", *self.nodes}
            placed = [n if n in known else first for n in self.dns] or [first, first]
        return {f"coredns-{number}": node for number, node in enumerate(placed)}

    def move_dns(self, pod: str) -> None:
        """The scheduler prefers a node that has none."""
        pods = self.dns_pods()
        if pod in pods:
            self.dns = [*pods.values()]
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
            if machine.role == "master" and machine.certificates:
                machine.certify(days, *RENEWED)
                for program in PROGRAMS:
                    machine.start(program)

    def write_secrets(self, is_all: bool = False) -> None:
        """Let each apiserver write a Secret, or all of them; each must be able to read all."""
        lists = [m.keys_of_secrets for m in self.machines.values() if m.keys_of_secrets]
        written = {keys[0] for keys in lists}
        self.encrypting = written if is_all else self.encrypting | written
        for keys in lists:
            assert self.encrypting <= {*keys}, "an apiserver lacks the key of a Secret"

    def account_token(self, secret: str = "tacker-vim") -> str:
        """The token in a Secret; one of the same name, of the same account, has the same."""
        return ACCOUNT_TOKEN + "x" * self.revoked + secret.removeprefix("tacker-vim")

    def saved(self) -> Saved:
        """A snapshot: the content of the simulated etcd, and the cluster that it belongs to."""
        told = {
            "release": self.release, "pod_cidr": "192.168.0.0/16", "cluster_cidr": "10.96.0.0/12",
        }
        held = (
            self.nodes, self.volumes, self.claimed, self.claims, self.accounts, self.objects,
            self.bindings,
        )
        return Saved(told, copy.deepcopy(held))

    def restore(self, saved: Saved) -> None:
        held = copy.deepcopy(saved.held)
        (
            self.nodes, self.volumes, self.claimed, self.claims, self.accounts, self.objects,
            self.bindings,
        ) = held
        self.members, self.restored = [], self.restored + 1

    def machine_of(self, name: str) -> Machine | None:
        return next((m for m in self.machines.values() if m.name == name and m.alive), None)

    def alive_members(self) -> list[dict[str, Any]]:
        return [
            member
            for member in self.members
            if (machine := self.machine_of(member["name"])) and machine.etcd_runs
        ]

    def shown(self, name: str) -> dict[str, Any]:
        ready = "True" if self.machine_of(name) else "Unknown"
        conditions = [{"type": "Ready", "status": ready, "message": "kubelet is silent"}]
        machine = next((m for m in self.machines.values() if m.name == name), None)
        info = {"kubeletVersion": machine.running if machine else self.release}
        return {**self.nodes[name], "status": {"conditions": conditions, "nodeInfo": info}}


class Programs:
    """A part of the programs of a simulated machine: a method for each, by its name."""

    world: World
    machine: Machine
    guards = False  # whether this connection's end lets all apiservers in

    def _answer(self, argv: list[str], stdin: bytes) -> Result:
        """Run a program; an unknown one fails the test."""
        raise NotImplementedError
