"""Files that the drivers render of parameters, read as the programs that get them read them.

The readers here are stricter than those programs: what two programs could read differently is a
:class:`Broken` property.
"""

import base64
import dataclasses
import importlib
import ipaddress
import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import yaml

from mgmt_drivers.cluster.backup import backup
from mgmt_drivers.cluster.cluster_params import KubernetesParams
from mgmt_drivers.cluster.kubeadm import kubeadm_config
from mgmt_drivers.cluster.kubeadm.kubeadm_config import JoinCredentials
from mgmt_drivers.cluster.load_balancer import haproxy, keepalived
from mgmt_drivers.cluster.packages import node_packages
from mgmt_drivers.cluster.packages.repository_params import SYSTEM
from mgmt_drivers.cluster.packages.runtime import Containerd
from mgmt_drivers.cluster.registries import registries
from mgmt_drivers.cluster.registries.registries_params import Registry
from mgmt_drivers.cluster.storage import nfs, volumes
from mgmt_drivers.cluster.storage.storage_params import Storage
from mgmt_drivers.machine.host import Host
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.registry import settings
from mgmt_drivers.registry.registry_params import PrivateRegistryParams
from mgmt_drivers.secret import Secret
from mgmt_drivers.setup.configure_proxy import _apt, _environment
from mgmt_drivers.ssh.session import DEFAULT_OUTPUT, DEFAULT_TIMEOUT, Result, Stdin
from mgmt_drivers.testing.fake_cluster import VIP_CP, FakeCluster, cluster_of, node
from mgmt_drivers.testing.fakes import FakeClock, FakeSession, fed, named

# All that a shell expands between double quotes is escaped, and nothing else is.
VARIABLE = re.compile(r'([A-Z_]+)="((?:[^"\\$`\n]|\\["\\$`])*)"\n')
APT = re.compile(r'([A-Za-z0-9]+(?:::[A-Za-z0-9._-]+)*) "([^"\\\n]*)";\n')
_EXPORT = re.compile(r"(/[A-Za-z0-9._/-]*) ([0-9./]+)\(([a-z0-9_,=/.A-Z-]+)\)")
_SOURCE = re.compile(r'(https?|HTTPS?)://(?:\[[0-9A-Fa-f:.]+\])?[^][#?\s"]*/', re.IGNORECASE)
_SETTING = re.compile(r"([A-Za-z]+)=(\S+)\n")
_WORD = re.compile(r"[A-Za-z0-9._:/*-]+")
_HOSTS = "127.0.0.1 localhost\n"  # what the image brought
# From Python 3.11 on.
_tomllib: Any = importlib.import_module("tomllib") if sys.version_info >= (3, 11) else None
# libyaml's, if it is there, takes a tenth of the time.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Broken(Exception):
    """A property that does not hold."""


class Disk(FakeSession):
    """A machine that has files and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, bytes] = {"/etc/hosts": _HOSTS.encode()}

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
        name, path, *words = named(argv)
        if name == "write-files":
            assert len(words) == 2, "one file at a time"
            self.files[path] = fed(stdin)
        elif name == "read-file":
            return Result(0, self.files.get(path, b"").decode())
        elif name not in ("digest-files", "test"):
            raise AssertionError(f"{name} is nothing that writes a file")
        return Result(0 if name == "write-files" else 1)


def check_files(params: Any) -> None:
    """Render every file of parameters that were read.

    :raises Broken: when one does not parse back to the parameters
    :raises InventoryError: when the parameters name machines' ports that they do not have
    """
    if isinstance(params, PrivateRegistryParams):
        _check_registry(params)
    elif isinstance(params, KubernetesParams):
        _check_cluster(params)


def _same(what: str, expected: Any, read: Any) -> None:
    if expected != read:
        raise Broken(f"{what} reads {read!r} and not {expected!r}")


def _check_registry(params: PrivateRegistryParams) -> None:
    if params.proxy:
        _check_proxy(params.proxy)
    container = settings.containers(params)[0]
    words = container.run_arguments()
    _same("the published port", f"{params.port}:5000", words[words.index("--publish") + 1])
    contents = [file.content for file in container.config_files()]
    paths = [*([params.tls.certificate, params.tls.key] if params.tls else ()), params.htpasswd]
    _same("the number of files", len([p for p in paths if p]), len(contents))


def _check_cluster(params: KubernetesParams) -> None:
    host = Host(node("worker", 1), disk := Disk(), FakeClock())
    if params.storage:
        _check_storage(params.storage)
    _check_registries(params.registries, host, disk)
    masters = 3 if params.master.cluster_cp_name == VIP_CP else 1
    # Storage server and floating IP have no part in the files of nodes.
    master = dataclasses.replace(params.master, cluster_fip_name=None)
    nodes_only = dataclasses.replace(params, storage=None, master=master)
    made, sessions = cluster_of(nodes_only, masters, workers=1)
    if params.offline:
        sessions[made.name(made.hosts[0])].expect_facts("debian 13")
    if made.proxy:
        _check_proxy(made.proxy)
    _check_kubeadm(made)
    _check_load_balancer(made)
    _check_packages(made)
    if params.backup:
        _check_timer(params.backup.interval)


def _check_proxy(proxy: Proxy) -> None:
    urls = {"HTTP_PROXY": proxy.http, "HTTPS_PROXY": proxy.https}
    expected = {name: url.reveal() for name, url in urls.items() if url}
    variables = repeated(VARIABLE, _environment(proxy).reveal())
    read = {name: re.sub(r"\\(.)", r"\1", value) for name, value in variables}
    no_proxy = read.pop("NO_PROXY", "")
    _same("the environment", expected, read)
    _same("NO_PROXY", list(proxy.no_proxy), no_proxy.split(",") if no_proxy else [])
    options = dict(repeated(APT, _apt(proxy).reveal()))
    own = {name: url for name, url in options.items() if name.count("::") == 2}
    _same("apt's proxies", sorted(expected.values()), sorted(own.values()))
    direct = {name.split("::", 3)[3] for name, url in options.items() if url == "DIRECT"}
    if not direct <= set(proxy.no_proxy):
        raise Broken(f"apt goes direct to {direct}")


def _check_registries(listed: Sequence[Registry], host: Host, disk: Disk) -> None:
    registries.write_host_entries(host, listed)
    registries.write_logins(host, listed, ())
    Containerd().trust(host, listed, ())
    entries = dict.fromkeys(r.host_entry for r in listed if r.host_entry)
    expected = [["127.0.0.1", "localhost"], *([e.address, e.name] for e in entries)]
    found = lines(disk.files["/etc/hosts"].decode())
    read = [line.split() for line in found if not line.startswith("#")]
    _same("/etc/hosts", expected, read)
    for address, _ in read:
        ipaddress.ip_address(address)
    logins = json.loads(disk.files.get(registries.KUBELET_LOGINS, b'{"auths": {}}'))["auths"]
    pairs = {server: base64.b64decode(login["auth"]).decode() for server, login in logins.items()}
    # A client takes what stands before the first colon for the user.
    read_logins = {server: tuple(pair.split(":", 1)) for server, pair in pairs.items()}
    known = {r.login_key: (r.login.username, r.login.password.reveal()) for r in listed if r.login}
    _same("kubelet's logins", known, read_logins)
    for registry in listed if _tomllib else ():
        folder = f"/etc/containerd/certs.d/{registry.server}"
        if registry.is_hub and not registry.certificate:
            _same("hosts.toml", False, f"{folder}/hosts.toml" in disk.files)
            continue
        table = _tomllib.loads(disk.files[f"{folder}/hosts.toml"].decode())
        _same("hosts.toml", (registry.url, [registry.url]), (table["server"], list(table["host"])))
        header = table["host"][registry.url].get("header", {})
        shown = registry.shown_login
        _same("the login", {"authorization": f"Basic {shown.basic.reveal()}"} if shown else {},
              header)
        ca = table["host"][registry.url].get("ca")
        _same("the CA", registry.certificate,
              disk.files[ca] if ca else None)


def _check_storage(storage: Storage) -> None:
    for export in storage.exports:
        network = str(export.network or "10.10.0.1")
        mount = storage.volume_of(export.folder).mount_point
        line = nfs.Export(export.folder, network, mount, export.squashes_root is not False).line()
        match = _EXPORT.fullmatch(line)
        if not match:
            raise Broken(f"{line!r} is no export")
        _same("an export", (export.folder, network), match.groups()[:2])
        options = match[3].split(",")
        squash = "no_root_squash" if export.squashes_root is False else "root_squash"
        if not {squash, f"mountpoint={mount}", "rw", "sync"} < {*options}:
            raise Broken(f"an export has the options {options}")
    for manifest in storage.manifests:
        for volume in manifest.volumes:
            spec = json.loads(json.dumps(volumes.at(volume, "10.10.0.5")))["spec"]["nfs"]
            _same("a PersistentVolume", ("10.10.0.5", volume["spec"]["nfs"]["path"]),
                  (spec["server"], spec["path"]))


def _check_kubeadm(made: FakeCluster) -> None:
    params = made.params
    secret, host = Secret("abcdef.0123456789abcdef"), made.hosts[0]
    proxy = kubeadm_config.kube_proxy(made, sets_conntrack=True, has_iptables=True)
    init = kubeadm_config.for_init(host, made, "v1.30.0", secret, proxy, keeps_cgroup_v1=False)
    first, config, kubelet, read_proxy = yaml.load_all(init.reveal(), _LOADER)  # noqa: S506 - safe
    _same("kube-proxy's part", proxy, read_proxy)
    _same("the networks", (str(params.pod_cidr), str(params.service_cidr)),
          (config["networking"]["podSubnet"], config["networking"]["serviceSubnet"]))
    _same("the endpoint", made.endpoint, config["controlPlaneEndpoint"])
    images = params.image_repository
    _same("the images", images and images.reference, config.get("imageRepository"))
    _same("the name", made.name(host), first["nodeRegistration"]["name"])
    if not 0 < kubelet["maxPods"] <= 2 ** (32 - params.node_cidr_prefix):
        raise Broken(f"{kubelet['maxPods']} pods do not fit into /{params.node_cidr_prefix}")
    serving = {made.name(made.hosts[-1]): Secret("key and certificate\n")}
    credentials = JoinCredentials(secret, None, "CA", serving=serving)
    join = kubeadm_config.for_join(made.hosts[-1], made, credentials)
    kubeconfig, _, joining = yaml.load_all(join.reveal(), _LOADER)  # noqa: S506 - safe
    node = joining["nodeRegistration"]
    arguments = node["kubeletExtraArgs"]
    if isinstance(arguments, list):
        arguments = {argument["name"]: argument["value"] for argument in arguments}
    labels = [label.split("=") for label in arguments.get("node-labels", "").split(",") if label]
    _same("the labels", [[*label] for label in params.worker.labels], labels)
    _same("the taints", [taint.shown() for taint in params.worker.taints], node.get("taints", []))
    _same("a join", (secret.reveal(), f"https://{made.endpoint}"),
          (kubeconfig["users"][0]["user"]["token"], kubeconfig["clusters"][0]["cluster"]["server"]))


def _check_load_balancer(made: FakeCluster) -> None:
    pairs = [(made.name(host), made.address(host)) for host in made.hosts]
    found = [line.split() for line in lines(haproxy.render(pairs))]
    _same("haproxy.cfg", [["server", name, f"{ip}:6443"] for name, ip in pairs],
          [words for words in found if words[:1] == ["server"]])
    (_, one), *others = pairs
    text = keepalived.render(made.topology.address, one, "eth0", [ip for _, ip in others], 0)
    words = [line.split() for line in lines(text)]
    at = words.index(["unicast_peer", "{"])
    _same("keepalived's peers", [[ip] for _, ip in others], words[at + 1 : at + 1 + len(others)])
    _same("keepalived.conf", [f"{made.topology.address}/32"],
          words[words.index(["virtual_ipaddress", "{"]) + 1])


def _check_packages(made: FakeCluster) -> None:
    """The package's script writes the repository's URL to sources.list."""
    params, host = made.params, made.hosts[0]
    read: Mapping[str, str] = node_packages.settings(host, made, ())
    url = params.package_repository.url.replace(SYSTEM, "debian-13")
    _same("the repository", url, read["PACKAGE_REPOSITORY"])
    if not _SOURCE.fullmatch(url) or not urlsplit(url).hostname or not url.isascii():
        raise Broken(f"{url!r} is more than one word of sources.list")
    for name in read.keys() - {"PACKAGE_REPOSITORY"}:
        if not all(map(_WORD.fullmatch, read[name].split())):
            raise Broken(f"{name} is {read[name]!r}")


def _check_timer(interval: int) -> None:
    text = backup._timer_unit(interval)
    pairs = [_SETTING.fullmatch(f"{line}\n") for line in lines(text) if not line.startswith("[")]
    read = {match[1]: match[2] for match in pairs if match}
    _same("the timer", max(interval // 4, 60), int(read["OnUnitActiveSec"]))


def repeated(form: re.Pattern[str], text: str) -> list[tuple[str, str]]:
    """The pairs of a text that is made of nothing but a form."""
    matches = list(form.finditer(text))
    if "".join(match[0] for match in matches) != text:
        raise Broken(f"{text!r} has more than {form.pattern}")
    return [(match[1], match[2]) for match in matches]


def lines(text: str) -> list[str]:
    """The lines of a file in printable ASCII."""
    if not re.fullmatch(r"[ -~\n]*\n", text):
        raise Broken(f"{text!r} has characters other than printable ASCII, or no last line feed")
    return text.splitlines()
