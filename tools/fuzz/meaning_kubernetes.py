"""What a request for a cluster means."""

import base64
import copy
import functools
import hashlib
import io
import ipaddress
import json
import posixpath
import re
import tarfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgmt_drivers.cluster.cluster_params import (
    DEFAULT_CNI_MANIFEST,
    DEFAULT_POD_CIDR,
    DEFAULT_SERVICE_CIDR,
)
from mgmt_drivers.cluster.series import DEFAULT_VERSION
from mgmt_drivers.testing.simulation import ACCOUNT_TOKEN, HELM_CONFIG
from tools.fuzz import syntaxes
from tools.fuzz.machines import HOSTS, NODE_ADDRESSES, VIP, newest
from tools.fuzz.meaning import (
    STATE,
    Finding,
    Meaning,
    ProxyMeaning,
    host_of,
    same,
    text_of,
)

_NODES = ("master", "worker")
_CA_FILE = "tacker-mgmt-drivers.crt"
_MOUNT = "defaults,nofail,x-systemd.before=nfs-server.service"
_EXPORT_OPTIONS = {"rw", "sync", "no_subtree_check"}
_OURS = {"app.kubernetes.io/managed-by": "tacker-mgmt-drivers"}
_OF_RELEASES = ("kube-apiserver", "kube-proxy")  # the simulated machines' images
_POD_CIDR = "@POD_CIDR@"
# What a control-plane node may need before Helm.
_BEFORE_HELM = ("", "nfs-common ", "haproxy keepalived ", "nfs-common haproxy keepalived ")


@dataclass(frozen=True)
class Registry:
    """One of private_registry_connection_info, or that of Kubernetes' images."""

    values: Mapping[str, Any]

    @property
    def server(self) -> str:
        return str(self.values["server"])

    @property
    def is_plain(self) -> bool:
        return str(self.values["connection_type"]) == "0"

    @property
    def url(self) -> str:
        return f"{'http' if self.is_plain else 'https'}://{self.server}"

    @property
    def login(self) -> str:
        return f"{self.values['username']}:{self.values['password']}"

    @property
    def has_login(self) -> bool:
        return self.values.get("username") is not None


def of_request(params: Mapping[str, Any], package: Path, nodes: Collection[str]) -> Meaning:
    """
    :param package: the folder of the VNF package, as it was when the request was read
    :param nodes: the addresses of the cluster's nodes
    """
    return _Reading(params, package, nodes).meaning()


class _Reading:
    """Reads a request that was accepted; None is as good as nothing everywhere."""

    def __init__(
        self, params: Mapping[str, Any], package: Path, nodes: Collection[str]
    ) -> None:
        self.params: Mapping[str, Any] = _without_nothing(params)
        self.package, self.nodes = package, nodes

    def meaning(self) -> Meaning:
        found = Meaning()
        self._add_packages(found)
        self._add_registries(found)
        self._add_storage(found)
        self._add_backup(found)
        self._add_images(found)
        self._add_helm(found)
        given = self.params.get("proxy", {})
        proxy = ProxyMeaning(given, ("containerd", "docker"), self._inside())
        if proxy.urls:
            proxy.add_to(found, [*_NODES, "storage"])
        check = functools.partial(_check_kubeadm, networks=self.networks, repository=self.images)
        found.inputs |= {"run-kubeadm": check, "kubeadm": check}
        found.inputs["kubectl"] = self._check_objects
        return found

    @property
    def networks(self) -> dict[str, str]:
        """As kubeadm names them."""
        master = self.params["master_node"]
        return {
            "podSubnet": _network(master.get("pod_cidr", DEFAULT_POD_CIDR)),
            "serviceSubnet": _network(master.get("cluster_cidr", DEFAULT_SERVICE_CIDR)),
        }

    @property
    def images(self) -> str:
        """The image repository, without scheme; empty for kubeadm's own."""
        return self.params.get("image_repository", "").rpartition("://")[2].rstrip("/")

    @property
    def registries(self) -> list[Registry]:
        found = [Registry(r) for r in self.params.get("private_registry_connection_info", ())]
        server = self.images.partition("/")[0]
        is_plain = self.params.get("image_repository", "").startswith("http://")
        if is_plain and server not in {registry.server for registry in found}:
            found.append(Registry({"server": server, "connection_type": "0"}))
        return found

    def _inside(self) -> set[str]:
        """What is reached without the proxy, whatever the request says."""
        nodes = {ip for addresses in NODE_ADDRESSES.values() for ip in addresses}
        url = self._repository()[0]
        direct = {"127.0.0.1", "localhost", ".svc", ".cluster.local", VIP, host_of(url)}
        return nodes | direct | {*self.networks.values()}

    def _repository(self) -> tuple[str, str]:
        """URL of the apt repository, and the file of its key."""
        given = self.params.get("package_repository")
        if given is None:
            series = ".".join(self._version().split(".")[:2])
            return f"https://pkgs.k8s.io/core:/stable:/v{series}/deb/", ""
        return given["url"].rstrip("/") + "/", given.get("key_path", "")

    def _version(self) -> str:
        return str(self.params.get("kubernetes_version", DEFAULT_VERSION)).removeprefix("v")

    def _add_packages(self, found: Meaning) -> None:
        url, key = self._repository()
        key_path = f"{STATE}/kubernetes.asc"
        found.words |= {
            f"KUBERNETES_VERSION={self._version()}",
            f"PACKAGE_REPOSITORY={url}",
            f"PACKAGE_KEY={key_path if key else ''}",
            f"IMAGE_REPOSITORY={self.images}",
            f"CONTAINER_RUNTIME={self.params.get('container_runtime', 'containerd')}",
        }
        self._add_copy(found, f"{STATE}/install_k8s_cluster.sh", self.params["script_path"])
        if key:
            self._add_copy(found, key_path, key)

    def _add_copy(self, found: Meaning, path: str, name: str) -> None:
        """A file of the package that nodes get as it is."""
        content = text_of((self.package / name).read_bytes())
        found.add_file(_NODES, path, same(syntaxes.as_it_is, content))

    def _add_registries(self, found: Meaning) -> None:
        entries = [r.values["hosts_string"].split() for r in self.registries
                   if r.values.get("hosts_string")]
        lines = [[str(ipaddress.ip_address(ip)), name] for ip, name in entries]
        lines = [line for n, line in enumerate(lines) if line not in lines[:n]]
        found.add_file(_NODES, "/etc/hosts", same(syntaxes.hosts, syntaxes.hosts(HOSTS) + lines))
        logins = {
            registry.server: {"auth": base64.b64encode(registry.login.encode()).decode()}
            for registry in self.registries
            if registry.has_login
        }
        if logins:
            check = same(syntaxes.json_document, {"auths": logins})
            found.add_file(_NODES, "/var/lib/kubelet/config.json", check)
        if self.params.get("container_runtime") == "docker":
            self._add_docker(found)
        else:
            for registry in self.registries:
                folder = f"/etc/containerd/certs.d/{registry.server}"
                self._add_containerd(found, registry, folder)
        found.inputs["python3"] = self._check_questions

    def _add_containerd(self, found: Meaning, registry: Registry, folder: str) -> None:
        table = {}
        if registry.values.get("certificate_path"):
            self._add_copy(found, f"{folder}/{_CA_FILE}", registry.values["certificate_path"])
            table = {"ca": f"{folder}/{_CA_FILE}"}
        wanted = {"server": registry.url, "host": {registry.url: table}}
        if syntaxes.toml("") is None:  # cannot be parsed by this Python
            wanted = None  # type: ignore[assignment]
        found.add_file(_NODES, f"{folder}/hosts.toml", same(syntaxes.toml, wanted))

    def _add_docker(self, found: Meaning) -> None:
        for registry in self.registries:
            if registry.values.get("certificate_path"):
                path = f"/etc/docker/certs.d/{registry.server}/{_CA_FILE}"
                self._add_copy(found, path, registry.values["certificate_path"])
        plain = [registry.server for registry in self.registries if registry.is_plain]
        if plain:
            check = same(syntaxes.json_document, {"insecure-registries": plain})
            found.add_file(_NODES, "/etc/docker/daemon.json", check)

    def _check_questions(self, text: str) -> None:
        """Each registry is asked about with its own login, and no other."""
        found = syntaxes.json_document(text)
        wanted = [self._question(registry) for registry in self.registries]
        proxies = {None, *dict(ProxyMeaning(self.params.get("proxy", {}), ()).urls).values()}
        ways = {question.pop("proxy", None) for question in found}
        if found != wanted or not ways <= proxies:
            raise Finding(f"the machine is asked {found}, where the parameters say {wanted}")

    def _question(self, registry: Registry) -> dict[str, str]:
        question = {"url": registry.url}
        if registry.has_login:
            values = registry.values
            question |= {"username": values["username"], "password": values["password"]}
        if registry.values.get("certificate_path"):
            content = (self.package / registry.values["certificate_path"]).read_bytes()
            question["ca"] = content.decode()
        return question

    def _add_storage(self, found: Meaning) -> None:
        storage = self.params.get("storage_server")
        if storage is None:
            return
        points = [_path(v["mount_to"]) for v in storage["cinder_volume_setup_params"]]
        mounts = [["UUID=u-1", point, "ext4", _MOUNT, "0", "2"] for point in points]
        found.add_file(["storage"], "/etc/fstab", same(syntaxes.fstab, mounts))
        squashes = {True: "root_squash", False: "no_root_squash"}
        exports = [
            (_path(e["export_dir"]), client, squashes[e.get("root_squash", False)])
            for e in storage["nfs_server_setup_params"]
            for client in self._clients(e)
        ]
        check = functools.partial(_check_exports, wanted=exports, points=points)
        found.add_file(["storage"], "/etc/exports.d/mgmt-driver.exports", check)
        found.words |= {*points, *(folder for folder, _, _ in exports)}
        for volume in self._volumes():
            found.words |= {
                posixpath.normpath(volume["spec"]["nfs"]["path"]), volume["metadata"]["name"],
            }

    def _add_backup(self, found: Meaning) -> None:
        backup = self.params.get("etcd_backup")
        if backup is None:
            return
        text = backup.get("interval", "6h")
        seconds = int(text[:-1]) * {"m": 60, "h": 3600, "d": 86400}[text[-1]]
        folder, server = backup.get("folder"), ""
        if folder is None:
            volumes = self.params["storage_server"]["cinder_volume_setup_params"]
            folder = f"{_path(volumes[0]['mount_to'])}/etcd-backup"
            address = NODE_ADDRESSES["storage"][0]
            server = f"etcd-backup@{address}"
            self._add_backup_server(found, folder, address)
        wanted = {
            "INTERVAL": str(seconds), "KEEP": str(backup.get("keep", 12)), "FOLDER": _path(folder),
            "SERVER": server, "RUNTIME": self.params.get("container_runtime", "containerd"),
            "POD_CIDR": self.networks["podSubnet"],
            "CLUSTER_CIDR": self.networks["serviceSubnet"],
        }
        check = functools.partial(_check_settings, wanted=wanted)
        found.add_file(["master"], f"{STATE}/etcd-backup.conf", check)
        tick = max(seconds // 4, 60)
        timer = {"[Timer]": [
            ("OnActiveSec", "60"), ("OnUnitActiveSec", str(tick)),
            ("RandomizedDelaySec", str(tick // 4)),
        ], "[Install]": [("WantedBy", "timers.target")]}
        path = "/etc/systemd/system/tacker-etcd-backup.timer"
        found.add_file(["master"], path, same(syntaxes.unit, timer))

    def _add_backup_server(self, found: Meaning, folder: str, address: str) -> None:
        begin = f'restrict,command="bash {STATE}/backup-store.sh {folder}" ssh-ed25519 '
        keys = functools.partial(_check_lines, begin=begin)
        found.add_file(["storage"], f"{STATE}/etcd-backup-account/.ssh/authorized_keys", keys)
        known = functools.partial(_check_lines, begin=f"{address} ssh-ed25519 ")
        found.add_file(["master"], f"{STATE}/etcd-backup.known_hosts", known)
        found.words.add(folder)

    def _clients(self, export: Mapping[str, Any]) -> list[str]:
        if "export_to" in export:
            return [_network(export["export_to"])]
        return sorted(map(_network, self.nodes))

    def _volumes(self) -> Iterator[dict[str, Any]]:
        """The PersistentVolumes as the API has to get them, but for the server's address."""
        for manifest in self.params.get("pv_registration_params", ()):
            content = (self.package / manifest["pv_manifest_file_path"]).read_bytes()
            for document in filter(None, syntaxes.yaml_documents(content.decode())):
                volume: dict[str, Any] = json.loads(json.dumps(document))
                volume["metadata"]["labels"] = {
                    **(volume["metadata"].get("labels") or {}), **_OURS,
                }
                volume["spec"]["nfs"]["server"] = NODE_ADDRESSES["storage"][0]
                yield volume

    def _add_images(self, found: Meaning) -> None:
        release = newest(self._version())
        images = [f"r/{name}:{release}" for name in _OF_RELEASES]
        if self.images and "cni_manifest_path" not in self.params:
            images += [_reference(self.images, name) for name in _flannel_images(self.package)]
        found.words |= {release, *images, *(f"name=={image}" for image in images)}
        if self.images:
            found.words.add(self.images)

    def _add_helm(self, found: Meaning) -> None:
        name = (self.params.get("helm") or {}).get("archive_path")
        script = self.params.get("helm_installation_script_path")
        if "helm" not in self.params and not script:
            return
        masters = ["master"]
        found.add_file(masters, HELM_CONFIG, self._check_kubeconfig)
        found.inputs["write-kubeconfig"] = self._check_kubeconfig
        if script:
            content = text_of((self.package / script).read_bytes())
            path = f"{STATE}/install_helm.sh"
            found.add_file(masters, path, same(syntaxes.as_it_is, content))
        if not name and not script:
            found.words |= {f"EXTRA_PACKAGES={other}helm" for other in _BEFORE_HELM}
        if name:
            content = (self.package / name).read_bytes()
            found.words |= {hashlib.sha256(content).hexdigest(), _program_in(content)}
            found.inputs["unpack-helm"] = same(syntaxes.as_it_is, text_of(content))

    def _check_kubeconfig(self, text: str) -> None:
        """Helm reaches the cluster inside of its network, with the token of the VIM's account."""
        config = syntaxes.json_document(text)
        users = [user["user"] for user in config["users"]]
        host = host_of(config["clusters"][0]["cluster"]["server"])
        if users != [{"token": ACCOUNT_TOKEN}] or host not in self._inside():
            raise Finding(f"Helm is told {config}")

    def _check_objects(self, text: str) -> None:
        """What is applied: the pod network, PersistentVolumes, or what any cluster gets."""
        found = syntaxes.objects(text)
        kinds = [document.get("kind") for document in found]
        if kinds == ["List"]:
            wanted = list(self._volumes())
            if any(item not in wanted for item in found[0]["items"]):
                raise Finding(f"the cluster gets {found}, where the parameters say {wanted}")
        elif "ServiceAccount" not in kinds or "DaemonSet" in kinds:
            self._check_manifest(found)

    def _check_manifest(self, found: Sequence[Any]) -> None:
        name = self.params.get("cni_manifest_path")
        path = self.package / (name or DEFAULT_CNI_MANIFEST)
        texts = {_POD_CIDR: self.networks["podSubnet"]}
        repository = "" if name else self.images
        wanted = _replaced(_documents(path.read_bytes()), texts, repository)
        if found != wanted:
            raise Finding(f"the cluster gets {found}, where the package says {wanted}")


def _without_nothing(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nothing(v) for key, v in value.items() if v is not None}
    return [_without_nothing(v) for v in value] if isinstance(value, list) else value


def _program_in(archive: bytes) -> str:
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        return next(name for name in opened.getnames() if name.endswith("/helm"))


def _network(text: str) -> str:
    return str(ipaddress.IPv4Network(text, strict=False))


def _path(text: str) -> str:
    return posixpath.normpath("/" + text.lstrip("/"))


def _reference(repository: str, image: str) -> str:
    return f"{repository}/{image.rpartition('/')[2]}"


@functools.lru_cache(maxsize=8)
def _parsed(content: bytes) -> list[Any]:
    return syntaxes.yaml_documents(content.decode())


def _documents(content: bytes) -> list[Any]:
    return copy.deepcopy(_parsed(content))


def _flannel_images(package: Path) -> list[str]:
    documents = _parsed((package / DEFAULT_CNI_MANIFEST).read_bytes())
    return sorted({image for document in documents for image in _images_in(document)})


def _images_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("image"), str):
            yield value["image"]
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from _images_in(item)


def _replaced(value: Any, texts: Mapping[str, str], repository: str) -> Any:
    """With the texts replaced, and images of the repository where there is one."""
    if isinstance(value, dict):
        changed = {_replaced(k, texts, ""): _replaced(v, texts, repository)
                   for k, v in value.items()}
        if repository and isinstance(changed.get("image"), str):
            changed["image"] = _reference(repository, changed["image"])
        return changed
    if isinstance(value, list):
        return [_replaced(item, texts, repository) for item in value]
    for old, new in texts.items() if isinstance(value, str) else ():
        value = value.replace(old, new)
    return value


def _check_kubeadm(text: str, networks: Mapping[str, str], repository: str) -> None:
    if not text:  # of a command that reads nothing
        return
    for document in syntaxes.yaml_documents(text):
        if document["kind"] == "ClusterConfiguration":
            found = (document["networking"], document.get("imageRepository", ""))
            if found != (networks, repository):
                raise Finding(
                    f"kubeadm is told {found}, where the parameters say {networks}, {repository}"
                )


def _check_settings(text: str, wanted: Mapping[str, str]) -> None:
    found = dict(syntaxes.variables(text))
    node = found.pop("NODE", "")
    if found != wanted or not node.startswith("master-"):
        raise Finding(f"backups are made by {found}, where the parameters say {wanted}")


def _check_lines(text: str, begin: str) -> None:
    """Each line has a key behind what the parameters say."""
    rest = [line.removeprefix(begin) for line in text.splitlines()]
    if not rest or any(not re.fullmatch(r"AAAA[0-9a-f]+( master-[0-9a-f]{12})?", r) for r in rest):
        raise Finding(f"it has {text!r}, where each line begins with {begin!r}")


def _check_exports(
    text: str, wanted: Sequence[tuple[str, str, str]], points: Sequence[str]
) -> None:
    """:param wanted: folder, client, and what becomes of its root, of each export"""
    found = syntaxes.exports(text)
    if [(folder, client) for folder, client, _ in found] != [(f, c) for f, c, _ in wanted]:
        raise Finding(f"it exports {found}, where the parameters say {wanted}")
    below = {f"mountpoint={point}" for point in points}
    for (_, _, options), (_, _, squash) in zip(found, wanted, strict=True):
        rest = {o for o in options if not o.startswith("fsid=")} - below
        if rest != {*_EXPORT_OPTIONS, squash} or not below & {*options}:
            raise Finding(f"an export has the options {options}, where they say {squash}")



