"""The parameter ``k8s_cluster_installation_param``."""

import ipaddress
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mgmt_drivers import grammar
from mgmt_drivers.cluster.backup.backup_keys import BackupKeys
from mgmt_drivers.cluster.backup.backup_params import (
    BACKUPS,
    RESTORE,
    RESTORE_KEYS,
    Backup,
    KeysOfBackups,
    placed,
)
from mgmt_drivers.cluster.backup.backup_params import NAME as ETCD_BACKUP
from mgmt_drivers.cluster.helm.helm_params import HELM, SCRIPT, Helm, helm_of
from mgmt_drivers.cluster.helm.helm_params import NAME as HELM_NAME
from mgmt_drivers.cluster.packages.script_params import Script
from mgmt_drivers.cluster.registries.registries_params import NAME as REGISTRIES_NAME
from mgmt_drivers.cluster.registries.registries_params import REGISTRIES, Registry, server_name
from mgmt_drivers.cluster.series import DEFAULT_VERSION, SUPPORTED, Series, Version, read_version
from mgmt_drivers.cluster.storage.storage_params import CP as STORAGE_CP
from mgmt_drivers.cluster.storage.storage_params import (
    MANIFESTS,
    PV_REGISTRATION,
    STORAGE,
    VOLUME,
    Manifest,
    Storage,
    with_manifests,
)
from mgmt_drivers.package import address_names, floating_ips, volume_names
from mgmt_drivers.params.declaration import (
    MODIFICATION,
    Always,
    ObjectOf,
    When,
    inline,
    param,
    parameters,
    read_object,
)
from mgmt_drivers.params.kinds import (
    LARGEST_ARCHIVE,
    Choice,
    Duration,
    Network,
    PackageFile,
    Reference,
    Text,
    TextKind,
    Url,
    read_yaml,
)
from mgmt_drivers.params.login import SshLogin
from mgmt_drivers.params.proxy import CLUSTER_PROXY, Proxy
from mgmt_drivers.params.reader import Context, Reader
from mgmt_drivers.request import INSTANTIATE, LcmRequest
from mgmt_drivers.secret import Secret

NAME = "k8s_cluster_installation_param"
DEFAULT_POD_CIDR = "192.168.0.0/16"
DEFAULT_SERVICE_CIDR = "10.96.0.0/12"
DEFAULT_CNI_MANIFEST = "Files/kubernetes/flannel.yaml"
CONTAINERD, DOCKER = "containerd", "docker"

# Each node gets a /24 of the pod CIDR, which is kubeadm's default. Of one that has less
# than 32 of them it gets a 32nd, but no less than a /28.
_NODE_PREFIX, _LONGEST_NODE_PREFIX = 24, 28
_NODE_BITS = 5
_LONGEST_POD_PREFIX = 24
# The apiserver keeps no larger one in etcd; kubeadm wants ten addresses (its validation.go).
_SHORTEST_SERVICE_PREFIX, _LONGEST_SERVICE_PREFIX = 12, 28
_VIM_NAME_LIMIT = 255  # of Tacker's database
_GROUPS = ("master_node", "worker_node")
_CP, _ASPECT = "CP", "scaling aspect"
DRAIN_TIMEOUT = Duration("1m", "1d")


@dataclass(frozen=True)
class NodeGroup:
    """The machines of one role: by which CPs and as whom they are reached.

    ``ssh_cp_name`` may name a floating IP of the BaseHOT.
    """

    ssh_cp_name: str = param(
        "ssh_cp_name", Reference(_CP), required=Always(), example="masterNode_CP1",
        meaning="CP, or floating IP of the BaseHOT, used for SSH",
    )
    nic_cp_name: str = param(
        "nic_cp_name", Reference(_CP), required=Always(), example="masterNode_CP1",
        meaning="CP whose address the node has in the cluster; masters and workers have different "
        "CPs",
    )
    login: SshLogin = inline(SshLogin)
    aspect_id: str | None = param(
        "aspect_id", Reference(_ASPECT, "VNFD"), example="master_instance",
        meaning="scaling aspect of the VNFD",
    )


@dataclass(frozen=True, kw_only=True)
class ControlPlaneGroup(NodeGroup):
    """The control-plane nodes, and what the request says of the cluster beside them."""

    cluster_cp_name: str = param(
        "cluster_cp_name", Reference(_CP), required=Always(), example="vip_CP",
        meaning="CP of the cluster's address: a separate port for a virtual IP, else the master's "
        "CP",
    )
    cluster_fip_name: str | None = param(
        "cluster_fip_name", Reference(_CP), required=When("if ``ssh_cp_name`` is a floating IP"),
        example="vip_FIP",
        meaning="floating IP of the cluster's address, by which Tacker reaches the cluster",
    )
    pod_cidr: ipaddress.IPv4Network = param(
        "pod_cidr", Network(), default=DEFAULT_POD_CIDR, example="10.244.0.0/16",
        meaning="the pod CIDR, without addresses of machines; each node gets a /24 of the pod "
        "CIDR, or a 32nd of a pod CIDR smaller than /19, but no less than a /28",
    )
    service_cidr: ipaddress.IPv4Network = param(
        "cluster_cidr", Network(), default=DEFAULT_SERVICE_CIDR, example="10.199.187.0/24",
        meaning="CIDR of the services, with a prefix from /12 to /28",
    )


class _RepositoryUrl(TextKind[str]):
    words, fallback, pattern = Url.words, "", Url.pattern

    def take(self, text: str, reader: Reader) -> str:
        url = Url().take(text, reader).reveal()
        if "@" in url:
            reader.refuse("must not carry a user name or password")
        elif set("?#[]") & set(url.partition("//")[2].removeprefix(urlsplit(url).netloc)):
            # In sources.list(5) a comment would begin, or options.
            reader.refuse("must have nothing but a path behind its host, without ?, #, [ and ]")
        return url.rstrip("/") + "/"


@dataclass(frozen=True)
class PackageRepository:
    """An apt repository laid out flat, as the Kubernetes project's own are.

    ``key`` is the ASCII-armored key that signs it; without one, it is fetched
    from the repository over https.
    """

    url: str = param(
        "url", _RepositoryUrl(), required=Always(),
        example="https://pkgs.k8s.io/core:/stable:/v1.37/deb/", meaning="the repository's folder",
    )
    key: Path | None = param(
        "key_path", PackageFile(), required=When("if ``url`` has http"),
        example="Files/kubernetes/key.asc",
        meaning="the ASCII-armored key that signs the repository",
        left_out="the key is fetched from a repository with https",
    )


def _check_key(repository: PackageRepository, reader: Reader) -> PackageRepository:
    if urlsplit(repository.url).scheme == "http" and not reader.has("key_path"):
        reader.at("key_path").refuse(
            "missing: over http, no key can be fetched that is to be trusted"
        )
    return repository


PACKAGE_REPOSITORY = ObjectOf(PackageRepository, _check_key)


@dataclass(frozen=True)
class ImageRepository:
    """Where Kubernetes' images lie, such as ``registry.example.com:5000/k8s``."""

    reference: str
    plain_http: bool = False

    @property
    def server(self) -> str:
        """Host and port."""
        return self.reference.partition("/")[0]


class ImageRepositoryKind(TextKind[ImageRepository]):
    words = "repository of images"
    fallback = ImageRepository("")

    def take(self, text: str, reader: Reader) -> ImageRepository:
        scheme, separator, rest = text.rpartition("://")
        reference = rest.rstrip("/")
        is_known = not separator or scheme in ("http", "https")
        if not is_known or not grammar.is_repository(reference):
            reader.refuse(
                "must be like registry.example.com:5000/kubernetes, with http:// before it when "
                "the registry speaks plain HTTP"
            )
        return ImageRepository(reference, plain_http=scheme == "http")


class VersionKind(TextKind[Version]):
    words = "a series such as ``1.37``, or a release such as ``1.37.2``"
    fallback = DEFAULT_VERSION
    pattern = r"^v?[0-9]+\.[0-9]+(\.[0-9]{1,3})?$"

    def take(self, text: str, reader: Reader) -> Version:
        version = read_version(text)
        if version is None:
            names = list(SUPPORTED)
            reader.refuse(
                f"must be a series or a release, such as {DEFAULT_VERSION} or "
                f"{DEFAULT_VERSION}.1, from {names[0]} to {names[-1]}"
            )
        return version or DEFAULT_VERSION


@dataclass(frozen=True)
class CniManifest:
    """A file of the VNF package with the objects of the pod network.

    ``is_default``: it is the one that packages bring for clusters which name no other.
    """

    path: Path
    is_default: bool = False


class _CniManifestFile(TextKind[CniManifest | None]):
    words = PackageFile.words

    def take(self, text: str, reader: Reader) -> CniManifest | None:
        path = PackageFile().take(text, reader)
        if path is None:
            return None
        what = "a file of Kubernetes objects in YAML"
        objects = read_yaml(path, what, reader)
        if not all(isinstance(o, dict) and "kind" in o for o in objects):
            reader.refuse(f"is not {what}")
        return CniManifest(path)


@dataclass(frozen=True, kw_only=True)
class KubernetesParams:
    """The parameters of a cluster.

    Without ``image_repository``, kubeadm's default is used. ``restore_from`` is the backup that
    the instantiation restores. ``unmanaged_vdu`` is a VDU that no parameter names: its machine is
    not the cluster's. ``manifests`` and ``helm_script`` are used through ``storage``
    and ``helm``.
    """

    script: Path = param(
        "script_path", Script(), required=Always(), example="Scripts/install_k8s_cluster.sh",
        meaning="installs runtime and packages on a machine; must declare its contract "
        "(:ref:`script-contract`)",
    )
    vim_name: str | None = param(
        "vim_name", Text(_VIM_NAME_LIMIT), example="kubernetes_vim_complex",
        meaning="name of the VIM",
        left_out="``kubernetes_vim_<VNF instance id>``",
    )
    master: ControlPlaneGroup = param(
        "master_node", ObjectOf(ControlPlaneGroup), required=Always(),
        meaning="the control-plane nodes",
    )
    worker: NodeGroup = param(
        "worker_node", ObjectOf(NodeGroup), required=Always(), meaning="the machines that run pods",
    )
    proxy: Proxy | None = param(
        "proxy", CLUSTER_PROXY,
        meaning="proxy for apt and the container runtime; empty strings count as left out, and "
        "without both URLs there is no proxy",
    )
    version: Version = param(
        "kubernetes_version", VersionKind(), default=str(DEFAULT_VERSION), example="1.37.2",
        changed_by=MODIFICATION, meaning="version of Kubernetes",
    )
    package_repository: PackageRepository = param(
        "package_repository", PACKAGE_REPOSITORY, required=When("with Kubernetes 1.23 and older"),
        changed_by=MODIFICATION, meaning="an apt repository like the Kubernetes project's",
        left_out="the Kubernetes project's own, which has the series from 1.24 on",
    )
    image_repository: ImageRepository | None = param(
        "image_repository", ImageRepositoryKind(), example="images.example.com/kubernetes",
        changed_by=MODIFICATION,
        meaning="repository of Kubernetes' images, with ``http://`` in front for a registry that "
        "speaks plain HTTP",
        left_out="kubeadm's own",
    )
    container_runtime: str = param(
        "container_runtime", Choice(CONTAINERD, DOCKER), default=CONTAINERD, example=CONTAINERD,
        meaning="docker with Kubernetes 1.23 and older only",
    )
    cni_manifest: CniManifest = param(
        "cni_manifest_path", _CniManifestFile(),
        required=When(f"if the VNF package has no ``{DEFAULT_CNI_MANIFEST}``"),
        example="Files/kubernetes/calico.yaml", left_out=f"``{DEFAULT_CNI_MANIFEST}``",
        meaning="file with the objects of a pod network, YAML without aliases",
    )
    drain_timeout: int = param(
        "drain_timeout", DRAIN_TIMEOUT, default="30m", example="2h", changed_by=MODIFICATION,
        meaning="the longest time to drain a node, from ``1m`` to ``1d``",
    )
    private_registries: tuple[Registry, ...] = param(
        REGISTRIES_NAME, REGISTRIES, meaning="registries that the nodes pull from",
    )
    storage: Storage | None = param(
        "storage_server", STORAGE,
        meaning="a machine that exports Cinder volumes over NFS; left out although the package "
        "has the machine, the machine is not set up",
    )
    manifests: tuple[Manifest, ...] = param(
        MANIFESTS, PV_REGISTRATION,
        meaning="PersistentVolumes on the storage server; needs ``storage_server``",
    )
    helm: Helm | None = param(
        HELM_NAME, HELM,
        meaning="Helm on the control-plane nodes, for CNFs by charts (:doc:`helm`); ``{}`` "
        "installs the package ``helm``",
        left_out="there is no Helm",
    )
    helm_script: Path | None = param(
        SCRIPT, PackageFile(), example="Scripts/install_helm.sh",
        meaning="in place of ``helm``: a script that installs Helm on a control-plane node",
    )
    backup: Backup | None = param(
        ETCD_BACKUP, BACKUPS, meaning="backups of etcd (:doc:`backup`); ``{}`` takes the defaults",
        left_out="there are no backups",
    )
    restore_from: Path | None = param(
        RESTORE, PackageFile(LARGEST_ARCHIVE), example="Files/backup.tar.gz",
        meaning="backup that the new cluster is made of: its path in the VNF package "
        "(:doc:`backup`)",
    )
    restore_keys: BackupKeys | None = param(
        RESTORE_KEYS, KeysOfBackups(), example='{"pairs": [], "signers": {}}',
        meaning="the keys of that backup, if another VNF saved it: the value of "
        "``mgmt_driver_etcd_backup_keys`` in the metadata of the VNF instance",
        left_out="the backup is of the first format, or of this VNF",
    )
    unmanaged_vdu: str | None = None

    @property
    def shares_password(self) -> bool:
        """Whether groups of machines have the same password."""
        logins = [self.master.login, self.worker.login]
        logins += [self.storage.login] if self.storage else []
        given = [login.password for login in logins if login.password]
        return len(set(given)) < len(given)

    @property
    def cluster_cp_name(self) -> str:
        return self.master.cluster_cp_name

    @property
    def cluster_fip_name(self) -> str | None:
        return self.master.cluster_fip_name

    @property
    def pod_cidr(self) -> ipaddress.IPv4Network:
        return self.master.pod_cidr

    @property
    def service_cidr(self) -> ipaddress.IPv4Network:
        return self.master.service_cidr

    @property
    def registries(self) -> tuple[Registry, ...]:
        """All that nodes are configured with: the private ones, and that of Kubernetes' images."""
        images = self.image_repository
        known = {registry.server for registry in self.private_registries}
        if images is None or not images.plain_http or images.server in known:
            return self.private_registries
        return (*self.private_registries, Registry(images.server, plain_http=True))

    @property
    def node_cidr_prefix(self) -> int:
        """Length of the prefix of each node's part of the pod CIDR."""
        divided = self.pod_cidr.prefixlen + _NODE_BITS
        return min(max(_NODE_PREFIX, divided), _LONGEST_NODE_PREFIX)

    def swallowed(self, named: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """The addresses that the cluster's own networks would take: the network's key, and why.

        :param named: hosts, of which names are passed over, and what each is
        """
        networks = (("pod_cidr", self.pod_cidr), ("cluster_cidr", self.service_cidr))
        return [
            (key, f"{host} of {what} lies in {network}; choose another network")
            for key, network in networks
            for host, what in named
            if (address := grammar.address(host)) and address in network
        ]

    def named_hosts(self) -> Iterator[tuple[str, str]]:
        """The hosts that the request names, and the parameter that does."""
        for number, registry in enumerate(self.private_registries):
            place = f"{REGISTRIES_NAME}[{number}]"
            yield registry.host, f"{place}.server"
            if registry.host_entry:
                yield registry.host_entry.address, f"{place}.hosts_string"
        proxy = self.proxy
        for key, url in (("http", proxy and proxy.http), ("https", proxy and proxy.https)):
            if url:
                yield urlsplit(url.reveal()).hostname or "", f"proxy.{key}_proxy"
        yield urlsplit(self.package_repository.url).hostname or "", "package_repository.url"
        if self.image_repository:
            yield self.image_repository.server.partition(":")[0], "image_repository"

    @property
    def series(self) -> Series:
        return self.version.series

    def secrets(self) -> Iterator[Secret]:
        """Every secret in here, for masking what machines print."""
        for group in (self.master, self.worker, self.storage):
            if group:
                yield from group.login.secrets()
        if self.proxy:
            yield from self.proxy.secrets()
        if self.restore_keys:
            yield from (pair.private for pair in self.restore_keys.pairs.values())
        for login in (registry.login for registry in self.registries):
            if login:
                yield from (login.password, login.basic)


# Parameters of the instantiate request that a modification replaces.
REPLACED = tuple(p.name for p in parameters(KubernetesParams) if p.changed_by == MODIFICATION)


def read_params(request: LcmRequest) -> KubernetesParams:
    """Read and check the parameters against the VNFD, the BaseHOT and the package's files.

    :raises ParameterError: with every error, each with its path
    """
    kind = ObjectOf(KubernetesParams, lambda params, reader: _checked(params, reader, request))
    return read_object(kind, request.additional_params, NAME, _context(request))


def _context(request: LcmRequest) -> Context:
    package, flavour = request.package, request.flavour
    cps = {*request.cps, *address_names(package, flavour)}
    names: dict[str, Collection[str]] = {
        _CP: cps,
        _ASPECT: request.aspects,
        VOLUME: volume_names(package, flavour),
        STORAGE_CP: _storage_cps(request, cps),
    }
    return Context(package, names, is_new=request.operation == INSTANTIATE)


def _storage_cps(request: LcmRequest, cps: Collection[str]) -> Collection[str]:
    """CPs of other VDUs than the nodes'.

    Floating IPs and ports of their own are in the BaseHOT only, and may be anybody's.
    """
    params: Any = request.additional_params.get(NAME)
    groups = [params.get(key) for key in _GROUPS] if isinstance(params, Mapping) else []
    named = [group.get("nic_cp_name") for group in groups if isinstance(group, Mapping)]
    nodes = {request.cps.get(cp) for cp in named if isinstance(cp, str)}
    return [cp for cp in cps if cp not in request.cps or request.cps[cp] not in nodes]


def _checked(params: KubernetesParams, reader: Reader, request: LcmRequest) -> KubernetesParams:
    """The parameters with defaults that depend on others; errors are noted in the reader."""
    repository = _package_repository(params, reader)
    storage = with_manifests(params.storage, params.manifests, reader)
    proxy = params.proxy
    params = replace(
        params,
        proxy=_with_host_of(repository, proxy) if proxy else None,
        package_repository=repository,
        cni_manifest=_cni_manifest(params, reader),
        storage=storage,
        helm=helm_of(params.helm, params.helm_script, reader),
        backup=placed(params.backup, storage, reader.at(ETCD_BACKUP)),
    )
    _check_runtime(params, reader)
    _check_floating_ip(params, request, reader)
    _check_networks(params, reader.at("master_node"))
    _check_image_repository(params, reader)
    if params.master.nic_cp_name and params.master.nic_cp_name == params.worker.nic_cp_name:
        place = reader.at("worker_node").at("nic_cp_name")
        place.refuse("must be another CP than that of master_node")
    return replace(params, unmanaged_vdu=_check_machines(params, request, reader))


def _package_repository(params: KubernetesParams, reader: Reader) -> PackageRepository:
    """The request's repository, or the Kubernetes project's own for the series."""
    series, key = params.series, "package_repository"
    if not reader.has(key) and series.dockershim:
        reader.at(key).refuse(
            f"missing: the Kubernetes project's own has no packages of {series.name}, only of "
            "1.24 and later"
        )
    own = PackageRepository(f"https://pkgs.k8s.io/core:/stable:/v{series.name}/deb/")
    return params.package_repository or own


def _with_host_of(repository: PackageRepository, proxy: Proxy) -> Proxy:
    """The proxy as apt can use it: apt knows hosts and no networks."""
    url = urlsplit(repository.url)
    host = url.hostname or ""
    if proxy.way_to(url.scheme, host) or host in proxy.no_proxy:
        return proxy
    return replace(proxy, no_proxy=(*proxy.no_proxy, host))


def _check_floating_ip(params: KubernetesParams, request: LcmRequest, reader: Reader) -> None:
    ssh, place = params.master.ssh_cp_name, reader.at("master_node").at("cluster_fip_name")
    floating = floating_ips(request.package, request.flavour)
    if place.value is None and request.operation == INSTANTIATE and ssh in floating:
        place.refuse(
            f"missing: Tacker reaches the masters by floating IPs ({ssh}), and needs one for the "
            f"VIM, too; the VNF package has: {', '.join(sorted(floating))}"
        )


def _check_machines(params: KubernetesParams, request: LcmRequest, reader: Reader) -> str | None:
    """Every VDU of the VNFD must be one that the parameters tell of.

    A storage server may be left out: its VDU is returned, if it can be no other.
    """
    if reader.errors.found:  # of which this might be a consequence
        return None
    known = {params.master.nic_cp_name, params.worker.nic_cp_name}
    if params.storage:
        known.add(params.storage.ssh_cp_name)
    elsewhere = known - set(request.cps)  # named by their floating IPs
    groups = (params.master, params.worker)
    is_one_vdu = len({request.cps.get(group.nic_cp_name) for group in groups}) == 1
    cps_of = defaultdict(set)
    for cp, vdu in request.cps.items():
        cps_of[vdu].add(cp)
    unnamed = sorted(vdu for vdu, cps in cps_of.items() if not known & cps and not elsewhere)
    may_be_storage = not is_one_vdu and not params.storage
    if may_be_storage and len(unnamed) == 1 and volume_names(request.package, request.flavour):
        return unnamed[0]
    hint = ("storage_server",) if may_be_storage else ("worker_node", "nic_cp_name")
    place = reduce(Reader.at, hint, reader)
    for vdu in unnamed:
        names = ", ".join(sorted(cps_of[vdu]))
        place.refuse(f"no parameter names a CP of VDU {vdu}: {names}")
    return None


def _check_image_repository(params: KubernetesParams, reader: Reader) -> None:
    images, place = params.image_repository, reader.at("image_repository")
    for registry in params.private_registries:
        if images is None or registry.server != server_name(images.server):
            continue
        if registry.plain_http != images.plain_http:
            place.refuse(f"{REGISTRIES_NAME} says that it is {registry.url}")
        if registry.login:
            # The runtimes' command lines would show the password to all of a machine.
            place.refuse("must be one that wants no login")


def _check_runtime(params: KubernetesParams, reader: Reader) -> None:
    if params.container_runtime == DOCKER and not params.series.dockershim:
        reader.at("container_runtime").refuse(
            f"Kubernetes {params.series.name} has no support for Docker; use containerd"
        )


def _cni_manifest(params: KubernetesParams, reader: Reader) -> CniManifest:
    place = reader.at("cni_manifest_path")
    default = CniManifest(reader.context.package / DEFAULT_CNI_MANIFEST, is_default=True)
    if place.value is None and not default.path.is_file():
        place.refuse(f"missing, and the VNF package has no {DEFAULT_CNI_MANIFEST} either")
    return params.cni_manifest or default


def _check_networks(params: KubernetesParams, reader: Reader) -> None:
    pods, services = reader.at("pod_cidr"), reader.at("cluster_cidr")
    if params.pod_cidr.prefixlen > _LONGEST_POD_PREFIX:
        pods.refuse(
            f"each node takes a /{_LONGEST_NODE_PREFIX} of it: use /{_LONGEST_POD_PREFIX} or "
            "larger"
        )
    prefix = params.service_cidr.prefixlen
    if not _SHORTEST_SERVICE_PREFIX <= prefix <= _LONGEST_SERVICE_PREFIX:
        services.refuse(
            f"Kubernetes takes a prefix from /{_SHORTEST_SERVICE_PREFIX} to "
            f"/{_LONGEST_SERVICE_PREFIX} for services"
        )
    if params.pod_cidr.overlaps(params.service_cidr):
        services.refuse(f"overlaps with pod_cidr {params.pod_cidr}")
    nodes = params.proxy.node_cidr if params.proxy else None
    for key, why in params.swallowed([*params.named_hosts()]) if reader.context.is_new else ():
        reader.at(key).refuse(why)
    for place, network in ((pods, params.pod_cidr), (services, params.service_cidr)):
        if nodes and ipaddress.IPv4Network(nodes, strict=False).overlaps(network):
            place.refuse(f"overlaps with k8s_node_cidr {nodes}")
