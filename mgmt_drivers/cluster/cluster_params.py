"""The parameter ``k8s_cluster_installation_param``."""

import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from mgmt_drivers import grammar
from mgmt_drivers.cluster.addons import addon_params
from mgmt_drivers.cluster.backup import backup_params
from mgmt_drivers.cluster.backup.backup_keys import BackupKeys
from mgmt_drivers.cluster.helm import helm_params
from mgmt_drivers.cluster.kubeadm.cluster_fields import CLUSTER_FIELDS, ClusterFields
from mgmt_drivers.cluster.kubeadm.cluster_fields import NAME as CLUSTER_CONFIGURATION
from mgmt_drivers.cluster.kubeadm.patch_params import PatchFolder
from mgmt_drivers.cluster.monitoring import monitoring_params
from mgmt_drivers.cluster.nodes.node_params import TAINTS, KubeletFields, Labels, Taint
from mgmt_drivers.cluster.packages import repository_params
from mgmt_drivers.cluster.packages.script_params import Script
from mgmt_drivers.cluster.registries import registries_params
from mgmt_drivers.cluster.registries.registries_params import Registry, server_name
from mgmt_drivers.cluster.self_healing import rail_params
from mgmt_drivers.cluster.series import DEFAULT_VERSION, Series, Version, VersionKind
from mgmt_drivers.cluster.storage import storage_params
from mgmt_drivers.params.declaration import MODIFICATION, Always, ObjectOf, When, inline, param
from mgmt_drivers.params.kinds import (
    LARGEST_ARCHIVE,
    Choice,
    Duration,
    ListOf,
    Network,
    PackageFile,
    Reference,
    Text,
    TextKind,
)
from mgmt_drivers.params.login import SshLogin
from mgmt_drivers.params.proxy import CLUSTER_PROXY, Proxy
from mgmt_drivers.params.reader import Reader
from mgmt_drivers.secret import Secret

NAME = "k8s_cluster_installation_param"
MASTER, WORKER, POOLS = "master_node", "worker_node", "worker_pools"
PATCHES = "kubeadm_patches"
CA_CERTIFICATES = "ca_certificates"
DEFAULT_POD_CIDR = "192.168.0.0/16"
DEFAULT_SERVICE_CIDR = "10.96.0.0/12"
DEFAULT_CNI_MANIFEST = "Files/kubernetes/flannel.yaml"
CONTAINERD, DOCKER = "containerd", "docker"
CIS, CLUSTER_ADMIN, EXTERNAL = "cis", "cluster-admin", "external"

# Each node gets a /24 of the pod CIDR, which is kubeadm's default. Of one that has less
# than 32 of them it gets a 32nd, but no less than a /28.
_NODE_PREFIX, LONGEST_NODE_PREFIX = 24, 28
_NODE_BITS = 5
_VIM_NAME_LIMIT = 255  # of Tacker's database
LOGIN_GROUPS = (MASTER, WORKER, POOLS, "storage_server")
CP, ASPECT = "CP", "scaling aspect"
DRAIN_TIMEOUT = Duration("1m", "1d")


@dataclass(frozen=True)
class NodeGroup:
    """The machines of one role: by which CPs and as whom they are reached.

    ``ssh_cp_name`` may name a floating IP of the BaseHOT. Workers alone can have ``labels`` and
    ``taints``.
    """

    ssh_cp_name: str = param(
        "ssh_cp_name", Reference(CP), required=Always(), example="masterNode_CP1",
        meaning="CP, or floating IP of the BaseHOT, used for SSH",
    )
    nic_cp_name: str = param(
        "nic_cp_name", Reference(CP), required=Always(), example="masterNode_CP1",
        meaning="CP whose address the node has in the cluster; masters and workers have different "
        "CPs",
    )
    login: SshLogin = inline(SshLogin)
    aspect_id: str | None = param(
        "aspect_id", Reference(ASPECT, "VNFD"), example="master_instance",
        meaning="scaling aspect of the VNFD",
    )
    kubelet_config: str = param(
        "kubelet_config", KubeletFields(), example={"systemReserved": {"memory": "512Mi"}},
        meaning="fields of kubelet's configuration on these nodes alone; needs Kubernetes 1.25 or "
        "later (:doc:`pools`)",
        left_out="the cluster's",
    )
    cloud_provider: str | None = param(
        "cloud_provider", Choice(EXTERNAL), example=EXTERNAL,
        meaning="these nodes are closed to pods until a cloud controller manager has initialized "
        "them (:ref:`cloud-provider`)",
        left_out="kubelet initializes its node",
    )
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()


@dataclass(frozen=True)
class WorkerGroup(NodeGroup):
    """Workers that are alike."""

    labels: tuple[tuple[str, str], ...] = param(
        "labels", Labels(), example={"example.com/pool": "dataplane"},
        meaning="labels of each of the nodes (:doc:`pools`)",
        left_out="Kubernetes' own", changed_by=MODIFICATION,
    )
    taints: tuple[Taint, ...] = param(
        "taints", TAINTS, meaning="taints of each of the nodes (:doc:`pools`)",
        left_out="there are none", changed_by=MODIFICATION,
    )


@dataclass(frozen=True, kw_only=True)
class ControlPlaneGroup(NodeGroup):
    """The control-plane nodes, and what the request says of the cluster beside them."""

    cluster_cp_name: str = param(
        "cluster_cp_name", Reference(CP), required=Always(), example="vip_CP",
        meaning="CP of the cluster's address: a separate port for a virtual IP, else the master's "
        "CP",
    )
    cluster_fip_name: str | None = param(
        "cluster_fip_name", Reference(CP), required=When("if ``ssh_cp_name`` is a floating IP"),
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


class _ApiName(TextKind[str]):
    words, fallback = "DNS name or address", ""

    def take(self, text: str, reader: Reader) -> str:
        if not grammar.is_host(text):
            reader.refuse("must be a DNS name or an address, such as api.example.com")
        return str(grammar.address(text) or text.lower())


@dataclass(frozen=True, kw_only=True)
class KubernetesParams:
    """The parameters of a cluster.

    Without ``image_repository``, kubeadm's default is used. ``restore_from`` is the backup that
    the instantiation restores. ``unmanaged_vdu`` is a VDU that no parameter names: its machine is
    not the cluster's. ``is_default_cni`` tells that the request names no other CNI manifest than
    the package's own. ``manifests`` and ``helm_script`` are used through ``storage`` and ``helm``.
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
    vim_role: str | None = param(
        "vim_role", Choice(CLUSTER_ADMIN), example=CLUSTER_ADMIN, changed_by=MODIFICATION,
        meaning="ClusterRole of the account with which Tacker uses the cluster (:ref:`vim-rights`)",
        left_out="the rights that CNFs need",
    )
    master: ControlPlaneGroup = param(
        MASTER, ObjectOf(ControlPlaneGroup), required=Always(),
        meaning="the control-plane nodes",
    )
    worker: WorkerGroup = param(
        WORKER, ObjectOf(WorkerGroup), required=Always(), meaning="the machines that run pods",
    )
    pools: tuple[WorkerGroup, ...] = param(
        POOLS, ListOf(ObjectOf(WorkerGroup)),
        meaning="more groups of such machines, each with a VDU of its own (:doc:`pools`)",
        left_out="``worker_node`` has all workers",
    )
    api_names: tuple[str, ...] = param(
        "api_names", ListOf(_ApiName(), "string"), example=["api.example.com"],
        changed_by=MODIFICATION,
        meaning="further names and addresses of the API, for the certificates of apiservers",
    )
    proxy: Proxy | None = param(
        "proxy", CLUSTER_PROXY, changed_by=MODIFICATION,
        meaning="proxy for apt and the container runtime; empty strings count as left out, and "
        "without both URLs there is no proxy",
    )
    ca_certificates: bytes | None = param(
        CA_CERTIFICATES, registries_params.Certificates(), example="Files/ca.crt",
        changed_by=MODIFICATION,
        meaning="file with CAs (PEM) that all machines trust, such as that of a proxy which "
        "decrypts HTTPS (:ref:`ca-certificates`)",
        left_out="the CAs of the machine's image",
    )
    version: Version = param(
        "kubernetes_version", VersionKind(), default=str(DEFAULT_VERSION), example="1.37.2",
        changed_by=MODIFICATION, meaning="version of Kubernetes",
    )
    package_repository: repository_params.PackageRepository = param(
        "package_repository", repository_params.PACKAGE_REPOSITORY,
        required=When("with Kubernetes 1.23 and older"),
        changed_by=MODIFICATION, meaning="an apt repository like the Kubernetes project's",
        left_out="the Kubernetes project's own, which has the series from 1.24 on",
    )
    image_repository: repository_params.ImageRepository | None = param(
        "image_repository", repository_params.ImageRepositoryKind(),
        example="images.example.com/kubernetes", changed_by=MODIFICATION,
        meaning="repository of Kubernetes' images, with ``http://`` in front for a registry that "
        "speaks plain HTTP",
        left_out="kubeadm's own",
    )
    offline: repository_params.OfflineRegistry | None = param(
        repository_params.OFFLINE, repository_params.OfflineRegistryKind(), example="10.10.0.251",
        meaning="in place of ``package_repository`` and ``image_repository``: the address of a "
        "private registry with bundles, for machines without internet (:doc:`offline`)",
        left_out="machines use the two",
    )
    container_runtime: str = param(
        "container_runtime", Choice(CONTAINERD, DOCKER), default=CONTAINERD, example=CONTAINERD,
        meaning="docker with Kubernetes 1.23 and older only",
    )
    cni_manifest: Path = param(
        "cni_manifest_path", addon_params.ManifestFile(),
        required=When(f"if the VNF package has no ``{DEFAULT_CNI_MANIFEST}``"),
        example="Files/kubernetes/calico.yaml", left_out=f"``{DEFAULT_CNI_MANIFEST}``",
        meaning="file with the objects of a pod network, YAML without aliases",
    )
    addons: tuple[addon_params.Addon, ...] = param(
        addon_params.NAME, addon_params.ADDONS, changed_by=MODIFICATION,
        meaning="manifests and charts that the cluster gets after its nodes, in their order "
        "(:doc:`addons`)",
        left_out="there are none",
    )
    drain_timeout: int = param(
        "drain_timeout", DRAIN_TIMEOUT, default="30m", example="2h", changed_by=MODIFICATION,
        meaning="the longest time to drain a node, from ``1m`` to ``1d``",
    )
    private_registries: tuple[Registry, ...] = param(
        registries_params.NAME, registries_params.REGISTRIES, changed_by=MODIFICATION,
        meaning="registries that the nodes pull from",
    )
    storage: storage_params.Storage | None = param(
        "storage_server", storage_params.STORAGE,
        meaning="a machine that exports Cinder volumes over NFS; left out although the package "
        "has the machine, the machine is not set up",
    )
    manifests: tuple[storage_params.Manifest, ...] = param(
        storage_params.MANIFESTS, storage_params.PV_REGISTRATION,
        meaning="PersistentVolumes on the storage server; needs ``storage_server``",
    )
    helm: helm_params.Helm | None = param(
        helm_params.NAME, helm_params.HELM,
        meaning="Helm on the control-plane nodes, for CNFs by charts (:doc:`helm`); ``{}`` "
        "installs the package ``helm``",
        left_out="there is no Helm",
    )
    helm_script: Path | None = param(
        helm_params.SCRIPT, PackageFile(), example="Scripts/install_helm.sh",
        meaning="in place of ``helm``: a script that installs Helm on a control-plane node",
    )
    backup: backup_params.Backup | None = param(
        backup_params.NAME, backup_params.BACKUPS, changed_by=MODIFICATION,
        meaning="backups of etcd (:doc:`backup`); ``{}`` takes the defaults",
        left_out="there are no backups",
    )
    monitoring: monitoring_params.Monitoring | None = param(
        monitoring_params.NAME, monitoring_params.MONITORING, changed_by=MODIFICATION,
        meaning="machines tell Prometheus their health (:doc:`monitoring`); ``{}`` takes the "
        "default",
        left_out="machines tell nothing",
    )
    automatic_heal: rail_params.Limits = param(
        rail_params.NAME, rail_params.LIMITS, default={}, example={"share": 25},
        changed_by=MODIFICATION,
        meaning="limits of the heals that Tacker begins by itself (:ref:`automatic-heal`)",
    )
    hardening: str | None = param(
        "hardening", Choice(CIS), example=CIS,
        meaning="the settings of the CIS benchmark that change what workloads may do "
        "(:doc:`hardening`)",
        left_out="the settings that cost workloads nothing",
    )
    kubeadm_patches: Path | None = param(
        PATCHES, PatchFolder(), example="Files/kubernetes/patches",
        meaning="folder with kubeadm's patches of the control plane's static pods; needs "
        "Kubernetes 1.22 or later (:ref:`kubeadm-patches`)",
        left_out="kubeadm's pods",
    )
    cluster_fields: ClusterFields | None = param(
        CLUSTER_CONFIGURATION, CLUSTER_FIELDS,
        meaning="fields of kubeadm's ClusterConfiguration; needs Kubernetes 1.31 or later "
        "(:ref:`cluster-configuration`)",
        left_out="kubeadm's own",
    )
    restore_from: Path | None = param(
        backup_params.RESTORE, PackageFile(LARGEST_ARCHIVE), example="Files/backup.tar",
        meaning="backup that the new cluster is made of: its path in the VNF package "
        "(:doc:`backup`)",
    )
    restore_keys: BackupKeys | None = param(
        backup_params.RESTORE_KEYS, backup_params.KeysOfBackups(),
        example='{"pairs": [], "signers": {}}',
        meaning="the keys of that backup, if another VNF saved it: the value of "
        "``mgmt_driver_etcd_backup_keys`` in the metadata of the VNF instance",
        left_out="the backup is of this VNF",
    )
    unmanaged_vdu: str | None = None
    is_default_cni: bool = False

    @property
    def workers(self) -> tuple[WorkerGroup, ...]:
        return (self.worker, *self.pools)

    @property
    def groups(self) -> tuple[NodeGroup, ...]:
        return (self.master, *self.workers)

    def _logins(self) -> list[SshLogin]:
        logins = [group.login for group in self.groups]
        return [*logins, self.storage.login] if self.storage else logins

    @property
    def shares_password(self) -> bool:
        given = [login.password for login in self._logins() if login.password]
        return len(set(given)) < len(given)

    @property
    def pod_cidr(self) -> ipaddress.IPv4Network:
        return self.master.pod_cidr

    @property
    def service_cidr(self) -> ipaddress.IPv4Network:
        return self.master.service_cidr

    @property
    def registries(self) -> tuple[Registry, ...]:
        """The private registries, and a registry of Kubernetes' images that needs a setting."""
        images = self.image_repository
        if images is None:
            return self.private_registries
        server = server_name(images.server)
        known = tuple(
            replace(each, has_kubernetes=True, certificate=each.certificate or images.certificate)
            if each.server == server
            else each
            for each in self.private_registries
        )
        is_set = images.plain_http or images.certificate
        if not is_set or any(registry.has_kubernetes for registry in known):
            return known
        own = Registry(images.server, images.plain_http, certificate=images.certificate)
        return (*known, own)

    @property
    def node_cidr_prefix(self) -> int:
        """Length of the prefix of each node's part of the pod CIDR."""
        divided = self.pod_cidr.prefixlen + _NODE_BITS
        return min(max(_NODE_PREFIX, divided), LONGEST_NODE_PREFIX)

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
            place = f"{registries_params.NAME}[{number}]"
            yield registry.host, f"{place}.server"
            if registry.host_entry:
                yield registry.host_entry.address, f"{place}.hosts_string"
        proxy = self.proxy
        for key, url in (("http", proxy and proxy.http), ("https", proxy and proxy.https)):
            if url:
                yield urlsplit(url.reveal()).hostname or "", f"proxy.{key}_proxy"
        if self.offline:
            yield self.offline.host, repository_params.OFFLINE
            return
        yield urlsplit(self.package_repository.url).hostname or "", "package_repository.url"
        if self.image_repository:
            yield self.image_repository.server.partition(":")[0], "image_repository"

    @property
    def series(self) -> Series:
        return self.version.series

    def secrets(self) -> Iterator[Secret]:
        """Every secret in here, for masking what machines print."""
        for machine_login in self._logins():
            yield from machine_login.secrets()
        if self.proxy:
            yield from self.proxy.secrets()
        if self.restore_keys:
            yield from (pair.private for pair in self.restore_keys.pairs.values())
        for login in (registry.login for registry in self.registries):
            if login:
                yield from (login.password, login.basic)
