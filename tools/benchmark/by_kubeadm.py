"""A cluster by kubeadm's guides: machines, packages and images as of a VNF, and commands by hand.

Each step ends as an operation does, with all nodes ready. The cluster has no load balancer, no
checks, and nothing else that a VNF has besides.
"""

import contextlib
import json
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from openstack.connection import Connection

from tools.client import kubernetes_source, stacks
from tools.client.config import CONFIG
from tools.client.machines import Remote
from tools.client.packages import SOURCES

_SOURCE = SOURCES / "kubernetes"
_SCRIPT = _SOURCE / "Scripts/install_k8s_cluster.sh"
_NETWORK = _SOURCE / "Files/kubernetes/flannel.yaml"
_POD_CIDR = "10.244.0.0/16"
_API_PORT = 6443
_FLAVORS = {"k8s.master": 3, "k8s.worker": 2}
_CONFIG, _PATCHES = "kubeadm.yaml", "patches"
_KUBECTL = "sudo kubectl --kubeconfig /etc/kubernetes/admin.conf"
# What the machines of the embedded cloud need, as the drivers do: kubelet on cgroup v1, no settings
# of conntrack in a container, and no request for disk space that kubelet does not know yet.
_IGNORED = "--ignore-preflight-errors SystemVerification"
_MACHINES: list[dict[str, Any]] = [
    {
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "failCgroupV1": False,
    },
    {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
        "conntrack": {"maxPerCore": 0, "min": 0},
    },
]
# A kubelet of another series starts the static pods anew, seconds after its own start.
_AWAIT_NEW_API = (
    "timeout 240 sh -c 'until [ $(ps -o etimes= -C kube-apiserver) -le "
    "$(ps -o etimes= -C kubelet) ]; do sleep 1; done' 2>/dev/null"
)
_AWAIT_UPGRADED = (
    f"timeout 240 sh -c 'until {_KUBECTL} get node {{name}} "
    "-o jsonpath={{.status.nodeInfo.kubeletVersion}} | grep -qx {release} && "
    f"{_KUBECTL} get --raw /readyz; do sleep 1; done' >/dev/null 2>&1"
)
_NO_REQUEST = {"name": "etcd", "resources": {"requests": {"ephemeral-storage": None}}}


@contextlib.contextmanager
def machines(connection: Connection, registry: str) -> Iterator["Cluster"]:
    """Fresh machines of the sizes and of the image of the VNF package, removed at the end.

    :param registry: host and port of the registry with the images, which speaks HTTP
    """
    flavors = [flavor for flavor, count in _FLAVORS.items() for _ in range(count)]
    resources: dict[str, Any] = {}
    for number, flavor in enumerate(flavors):
        image = CONFIG.node_image
        resources |= stacks.server(f"node-{number}", image, [_API_PORT], flavor=flavor)
    with stacks.stack(connection, resources) as stack_id:
        names = [f"node-{number}" for number in range(len(flavors))]
        remotes = [
            Remote(stacks.address(connection, stack_id, f"{name}_port")) for name in names
        ]

        def servers() -> list[str]:
            return [stacks.physical_id(connection, stack_id, name) for name in names]

        def replace(remote: Remote) -> None:
            stacks.replace(connection, stack_id, names[remotes.index(remote)])

        count = _FLAVORS["k8s.master"]
        yield Cluster(servers, replace, remotes[:count], remotes[count:], registry)


@dataclass(frozen=True)
class Cluster:
    """Machines that become a cluster; the first master runs what the cluster needs once.

    ``servers``: gives the ids of the machines' servers. ``replace``: makes the server of a machine
    anew, with the same address.
    """

    servers: Callable[[], Sequence[str]]
    replace: Callable[[Remote], None]
    masters: Sequence[Remote]
    workers: Sequence[Remote]
    registry: str

    @property
    def url(self) -> str:
        return f"https://{self.masters[0].address}:{_API_PORT}"

    def make(self) -> None:
        """Install the configured series on all machines at once, then init and join."""
        first, *others = self.masters
        _each([*self.masters, *self.workers], self._prepare)
        token = f"{secrets.token_hex(3)}.{secrets.token_hex(8)}"
        key = secrets.token_hex(32)
        release = first.run("kubeadm version -o short").strip()
        _put(first, _CONFIG, yaml.safe_dump_all(self._for_init(release, token, key)))
        first.run(f"sudo kubeadm init --config {_CONFIG} --upload-certs {_IGNORED}")
        _put(first, _NETWORK.name, self._network())
        first.run(f"{_KUBECTL} apply -f {_NETWORK.name}")
        for remote in others:  # etcd takes one member at a time
            self._join(remote, token, controlPlane={"certificateKey": key})
        _each(self.workers, lambda remote: self._join(remote, token))
        self._await_nodes()

    def upgrade(self) -> None:
        """Upgrade to the configured series, one node after another, each drained."""
        first, *others = self.masters
        release = ""
        for remote in (first, *others, *self.workers):
            name = remote.run("hostname").strip()
            remote.run(self._install(KUBERNETES_PACKAGES="kubeadm"))
            release = release or remote.run("kubeadm version -o short").strip()
            what = f"apply --yes {release}" if remote is first else "node"
            remote.run(f"sudo kubeadm upgrade {what} {_IGNORED}")
            self._drain(name)
            remote.run(self._install(KUBERNETES_PACKAGES="'kubelet kubectl'"))
            remote.run("sudo systemctl daemon-reload && sudo systemctl restart kubelet")
            if remote in self.masters:
                remote.run(_AWAIT_NEW_API)
            first.run(_AWAIT_UPGRADED.format(name=name, release=release))
            first.run(f"{_KUBECTL} uncordon {name}")
        self._await_nodes()

    def heal(self, remote: Remote) -> None:
        """Replace a machine other than the first one by a fresh one of the configured series."""
        first = self.masters[0]
        name = remote.run("hostname").strip()
        self._drain(name)
        remote.run("sudo kubeadm reset --force")  # removes the member of etcd, too
        first.run(f"{_KUBECTL} delete node {name}")
        self.replace(remote)
        self._prepare(remote)
        token = first.run("sudo kubeadm token create").strip()
        if remote in self.masters:
            told = first.run("sudo kubeadm init phase upload-certs --upload-certs")
            self._join(remote, token, controlPlane={"certificateKey": told.split()[-1]})
        else:
            self._join(remote, token)
        self._await_nodes()

    def _drain(self, name: str) -> None:
        drain = f"{_KUBECTL} drain {name} --ignore-daemonsets --delete-emptydir-data"
        self.masters[0].run(drain)

    def _prepare(self, remote: Remote) -> None:
        remote.await_login()
        remote.put(_SCRIPT, _SCRIPT.name)
        hosts, url = f"/etc/containerd/certs.d/{self.registry}", f"http://{self.registry}"
        patch = json.dumps({"spec": {"containers": [_NO_REQUEST]}})
        remote.run(
            "sudo cloud-init status --wait >/dev/null; set -e\n"
            f"sudo mkdir -p {hosts} {_PATCHES}\n"
            f"""echo 'server = "{url}"\n[host."{url}"]' | sudo tee {hosts}/hosts.toml\n"""
            f"echo '{patch}' | sudo tee {_PATCHES}/etcd.json\n"
            f"{self._install()}"
        )

    def _install(self, **settings: str) -> str:
        """The command that installs packages of the configured series, by the package's script."""
        settings = {
            "NODE_ROLE": "master", "CONTAINER_RUNTIME": "containerd",
            "KUBERNETES_VERSION": kubernetes_source.series().name,
            "PACKAGE_REPOSITORY": f"{kubernetes_source.mirror_url()}/apt/",
            "IMAGE_REPOSITORY": self.registry, **settings,
        }
        words = " ".join(f"{name}={value}" for name, value in settings.items())
        return f"sudo env {words} bash {_SCRIPT.name}"

    def _for_init(self, release: str, token: str, key: str) -> list[dict[str, Any]]:
        return [
            {
                **_kind("InitConfiguration"), "certificateKey": key,
                "bootstrapTokens": [{"token": token}],
            },
            {
                **_kind("ClusterConfiguration"), "kubernetesVersion": release,
                "controlPlaneEndpoint": self.url.partition("://")[2],
                "imageRepository": self.registry, "networking": {"podSubnet": _POD_CIDR},
            },
            *_MACHINES,
        ]

    def _join(self, remote: Remote, token: str, **config: Any) -> None:
        found = {
            "apiServerEndpoint": self.url.partition("://")[2], "token": token,
            "unsafeSkipCAVerification": True,
        }
        config = {**_kind("JoinConfiguration"), "discovery": {"bootstrapToken": found}, **config}
        _put(remote, _CONFIG, yaml.safe_dump(config))
        remote.run(f"sudo kubeadm join --config {_CONFIG} {_IGNORED}")

    def _network(self) -> str:
        text = _NETWORK.read_text().replace("@POD_CIDR@", _POD_CIDR)
        return re.sub(r"image: \S*/", f"image: {self.registry}/", text)

    def _await_nodes(self) -> None:
        self.masters[0].run(f"{_KUBECTL} wait --for condition=Ready node --all --timeout 240s")


def _kind(kind: str) -> dict[str, Any]:
    patches = {} if kind == "ClusterConfiguration" else {
        "patches": {"directory": f"/home/{CONFIG.username}/{_PATCHES}"}
    }
    return {"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": kind, **patches}


def _put(remote: Remote, name: str, text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, name)
        file.write_text(text)
        remote.put(file, name)


def _each(remotes: Sequence[Remote], act: Callable[[Remote], None]) -> None:
    with ThreadPoolExecutor(len(remotes)) as pool:
        list(pool.map(act, remotes))
