"""The parameter ``k8s_cluster_installation_param``."""

import ipaddress
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from mgmt_drivers import grammar
from mgmt_drivers.cluster.backup.backup_params import RESTORE, Backup, read_backup
from mgmt_drivers.cluster.helm.helm_params import Helm, read_helm
from mgmt_drivers.cluster.packages.script_params import read_script
from mgmt_drivers.cluster.registries.registries_params import NAME as REGISTRIES
from mgmt_drivers.cluster.registries.registries_params import Registry, read_registries
from mgmt_drivers.cluster.series import DEFAULT_VERSION, SUPPORTED, Series, Version, read_version
from mgmt_drivers.cluster.storage.storage_params import Storage, read_storage
from mgmt_drivers.package import address_names, floating_ips, volume_names
from mgmt_drivers.params.login import SshLogin, read_login
from mgmt_drivers.params.proxy import Proxy, read_proxy
from mgmt_drivers.params.reader import Reader, read_object
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


@dataclass(frozen=True)
class NodeGroup:
    """The machines of one role: by which CPs and as whom they are reached.

    ``ssh_cp_name`` may name a floating IP of the BaseHOT.
    """

    ssh_cp_name: str
    nic_cp_name: str
    login: SshLogin


@dataclass(frozen=True)
class PackageRepository:
    """An apt repository laid out flat, as the Kubernetes project's own are.

    ``key`` is the ASCII-armored key that signs it; without one, it is fetched
    from the repository over https.
    """

    url: str
    key: Path | None = None


@dataclass(frozen=True)
class ImageRepository:
    """Where Kubernetes' images lie, such as ``registry.example.com:5000/k8s``."""

    reference: str
    plain_http: bool = False

    @property
    def server(self) -> str:
        """Host and port."""
        return self.reference.partition("/")[0]


@dataclass(frozen=True)
class CniManifest:
    """A file of the VNF package with the objects of the pod network.

    ``is_default``: it is the one that packages bring for clusters which name no other.
    """

    path: Path
    is_default: bool = False


@dataclass(frozen=True)
class KubernetesParams:
    """What the cluster is to be.

    Without ``image_repository``, kubeadm's default is used. ``restore_from`` is the backup that
    the instantiation restores. ``left_alone`` is the VDU that no parameter names, if there is one:
    its machine is not the cluster's.
    """

    script: Path
    master: NodeGroup
    worker: NodeGroup
    cluster_cp_name: str
    package_repository: PackageRepository
    cni_manifest: CniManifest
    vim_name: str | None = None
    cluster_fip_name: str | None = None
    pod_cidr: ipaddress.IPv4Network = ipaddress.IPv4Network(DEFAULT_POD_CIDR)
    service_cidr: ipaddress.IPv4Network = ipaddress.IPv4Network(DEFAULT_SERVICE_CIDR)
    proxy: Proxy | None = None
    version: Version = DEFAULT_VERSION
    image_repository: ImageRepository | None = None
    container_runtime: str = CONTAINERD
    private_registries: tuple[Registry, ...] = ()
    storage: Storage | None = None
    helm: Helm | None = None
    backup: Backup | None = None
    restore_from: Path | None = None
    left_alone: str | None = None

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
        for login in (registry.login for registry in self.registries):
            if login:
                yield from (login.password, login.basic)


def read_params(request: LcmRequest) -> KubernetesParams:
    """Read and check the parameters against the VNFD, the BaseHOT and the package's files.

    :raises ParameterError: with every error, each with its path
    """
    return read_object(request.additional_params, NAME, lambda reader: read(reader, request))


def read(reader: Reader, request: LcmRequest) -> KubernetesParams:
    """Read everything; errors are noted in the reader."""
    cps = {*request.cps, *address_names(request.package, request.flavour)}
    # An empty object stands for a missing one: what it lacks is an error each.
    master = reader.required_section("master_node")
    worker = reader.required_section("worker_node")
    masters, workers = (_read_group(group, request, cps) for group in (master, worker))
    version = read_kubernetes_version(reader)
    repository = read_package_repository(reader, version.series, request.package)
    storage = _read_storage(reader, request, cps, (masters, workers))
    proxy = read_proxy(reader.section("proxy"), of_cluster=True)
    is_new = request.operation == INSTANTIATE
    params = KubernetesParams(
        script=read_script(reader, request.package, is_new),
        vim_name=_read_vim_name(reader),
        master=masters,
        worker=workers,
        cluster_cp_name=master.one_of("cluster_cp_name", cps, "CP"),
        cluster_fip_name=_read_floating_ip(master, masters.ssh_cp_name, cps, request),
        pod_cidr=master.network("pod_cidr", DEFAULT_POD_CIDR),
        service_cidr=master.network("cluster_cidr", DEFAULT_SERVICE_CIDR),
        proxy=_with_host_of(repository, proxy) if proxy else None,
        version=version,
        package_repository=repository,
        image_repository=read_image_repository(reader),
        container_runtime=_read_runtime(reader, version.series),
        cni_manifest=_read_cni_manifest(reader, request.package),
        private_registries=read_registries(reader, request.package),
        storage=storage,
        helm=read_helm(reader, request.package),
        backup=read_backup(reader, storage),
        restore_from=reader.file(RESTORE, request.package),
    )
    for section in (master, worker, reader):
        section.end()
    _check_networks(params, master)
    _check_image_repository(params, reader)
    if params.master.nic_cp_name and params.master.nic_cp_name == params.worker.nic_cp_name:
        worker.error("nic_cp_name", "must be another CP than that of master_node")
    return replace(params, left_alone=_check_machines(params, request, reader))


def _read_group(reader: Reader, request: LcmRequest, cps: Collection[str]) -> NodeGroup:
    aspect = reader.optional_text("aspect_id")
    if aspect and aspect not in request.aspects:
        known = ", ".join(sorted(request.aspects)) or "none"
        reader.error("aspect_id", f"the VNFD has no scaling aspect {aspect}; it has: {known}")
    return NodeGroup(
        ssh_cp_name=reader.one_of("ssh_cp_name", cps, "CP"),
        nic_cp_name=reader.one_of("nic_cp_name", cps, "CP"),
        login=read_login(reader),
    )


def _read_storage(
    reader: Reader, request: LcmRequest, cps: Collection[str], groups: Iterable[NodeGroup]
) -> Storage | None:
    volumes = volume_names(request.package, request.flavour)
    nodes = {request.cps.get(group.nic_cp_name) for group in groups}
    # Floating IPs and ports of their own are in the BaseHOT only, and may be anybody's.
    own = [cp for cp in cps if cp not in request.cps or request.cps[cp] not in nodes]
    return read_storage(reader, request.package, own, volumes)


def _read_floating_ip(
    master: Reader, ssh: str, cps: Collection[str], request: LcmRequest
) -> str | None:
    key = "cluster_fip_name"
    if master.has(key):
        return master.one_of(key, cps, "CP")
    floating = floating_ips(request.package, request.flavour)
    if request.operation == INSTANTIATE and ssh in floating:
        master.error(
            key,
            f"missing: Tacker reaches the masters by floating IPs ({ssh}), and needs one for the "
            f"VIM, too; the VNF package has: {', '.join(sorted(floating))}",
        )
    return None


def _read_vim_name(reader: Reader) -> str | None:
    name = reader.optional_text("vim_name")
    if name and len(name) > _VIM_NAME_LIMIT:
        reader.error("vim_name", f"must not be longer than {_VIM_NAME_LIMIT} characters")
    return name


def read_kubernetes_version(reader: Reader) -> Version:
    """The parameter ``kubernetes_version``, or its default."""
    version = read_version(reader.optional_text("kubernetes_version") or str(DEFAULT_VERSION))
    if version is None:
        names = list(SUPPORTED)
        reader.error(
            "kubernetes_version",
            f"must be a series or a release, such as {DEFAULT_VERSION} or "
            f"{DEFAULT_VERSION}.1, from {names[0]} to {names[-1]}",
        )
        return DEFAULT_VERSION
    return version


def read_package_repository(reader: Reader, series: Series, package: Path) -> PackageRepository:
    """The parameter ``package_repository``, or the Kubernetes project's own for the series."""
    default = PackageRepository(f"https://pkgs.k8s.io/core:/stable:/v{series.name}/deb/")
    section = reader.section("package_repository")
    if section is None:
        if series.dockershim:
            reader.error(
                "package_repository",
                f"missing: the Kubernetes project's own has no packages of {series.name}, only of "
                "1.24 and later",
            )
        return default
    url = section.url("url")
    if url is None and section.usable:
        section.error("url", "missing")
    key = section.file("key_path", package)
    address = url.reveal() if url else default.url
    if "@" in address:
        section.error("url", "must not carry a user name or password")
    elif set("?#[]") & set(address.partition("//")[2].removeprefix(urlsplit(address).netloc)):
        # In sources.list(5) a comment would begin, or options.
        section.error("url", "must have nothing but a path behind its host, without ?, #, [ and ]")
    if urlsplit(address).scheme == "http" and not section.has("key_path"):
        section.error("key_path", "missing: over http, no key can be fetched that is to be trusted")
    section.end()
    return PackageRepository(address.rstrip("/") + "/", key)


def _with_host_of(repository: PackageRepository, proxy: Proxy) -> Proxy:
    """The proxy as apt can use it: apt knows hosts and no networks."""
    url = urlsplit(repository.url)
    host = url.hostname or ""
    if proxy.way_to(url.scheme, host) or host in proxy.no_proxy:
        return proxy
    return replace(proxy, no_proxy=(*proxy.no_proxy, host))


def read_image_repository(reader: Reader) -> ImageRepository | None:
    """The parameter ``image_repository``, where it is given."""
    value = reader.optional_text("image_repository")
    if value is None:
        return None
    scheme, separator, rest = value.rpartition("://")
    reference = rest.rstrip("/")
    is_known = not separator or scheme in ("http", "https")
    if not is_known or not grammar.is_repository(reference):
        reader.error(
            "image_repository",
            "must be like registry.example.com:5000/kubernetes, with http:// before it when the "
            "registry speaks plain HTTP",
        )
    return ImageRepository(reference, plain_http=scheme == "http")


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
    hint = "storage_server" if may_be_storage else "worker_node.nic_cp_name"
    for vdu in unnamed:
        names = ", ".join(sorted(cps_of[vdu]))
        reader.error(hint, f"no parameter names a CP of VDU {vdu}: {names}")
    return None


def _check_image_repository(params: KubernetesParams, reader: Reader) -> None:
    images = params.image_repository
    for registry in params.private_registries:
        if images is None or registry.server != images.server:
            continue
        if registry.plain_http != images.plain_http:
            reader.error("image_repository", f"{REGISTRIES} says that it is {registry.url}")
        if registry.login:
            # The runtimes' command lines would show the password to all of a machine.
            reader.error("image_repository", "must be one that wants no login")


def _read_runtime(reader: Reader, series: Series) -> str:
    runtime = reader.choice("container_runtime", (CONTAINERD, DOCKER), CONTAINERD)
    if runtime == DOCKER and not series.dockershim:
        reader.error(
            "container_runtime",
            f"Kubernetes {series.name} has no support for Docker; use containerd",
        )
    return runtime


def _read_cni_manifest(reader: Reader, package: Path) -> CniManifest:
    key, what = "cni_manifest_path", "a file of Kubernetes objects in YAML"
    default = CniManifest(package / DEFAULT_CNI_MANIFEST, is_default=True)
    if not reader.has(key):
        if reader.usable and not default.path.is_file():
            reader.error(key, f"missing, and the VNF package has no {DEFAULT_CNI_MANIFEST} either")
        return default
    path, objects = reader.yaml_file(key, package, what)
    if not all(isinstance(o, dict) and "kind" in o for o in objects):
        reader.error(key, f"is not {what}")
    return CniManifest(path) if path else default


def _check_networks(params: KubernetesParams, master: Reader) -> None:
    if params.pod_cidr.prefixlen > _LONGEST_POD_PREFIX:
        master.error(
            "pod_cidr",
            f"each node takes a /{_LONGEST_NODE_PREFIX} of it: use /{_LONGEST_POD_PREFIX} or "
            "larger",
        )
    prefix = params.service_cidr.prefixlen
    if not _SHORTEST_SERVICE_PREFIX <= prefix <= _LONGEST_SERVICE_PREFIX:
        master.error(
            "cluster_cidr",
            f"Kubernetes takes a prefix from /{_SHORTEST_SERVICE_PREFIX} to "
            f"/{_LONGEST_SERVICE_PREFIX} for services",
        )
    if params.pod_cidr.overlaps(params.service_cidr):
        master.error("cluster_cidr", f"overlaps with pod_cidr {params.pod_cidr}")
    nodes = params.proxy.node_cidr if params.proxy else None
    for key, network in (("pod_cidr", params.pod_cidr), ("cluster_cidr", params.service_cidr)):
        if nodes and ipaddress.IPv4Network(nodes, strict=False).overlaps(network):
            master.error(key, f"overlaps with k8s_node_cidr {nodes}")
