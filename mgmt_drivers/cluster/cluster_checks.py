"""Reading a cluster's parameters, and the checks that need several of them or the VNF package."""

import ipaddress
import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mgmt_drivers.cluster.addons import addon_params, manifests
from mgmt_drivers.cluster.backup import backup_params
from mgmt_drivers.cluster.cluster_params import (
    ASPECT,
    CP,
    DEFAULT_CNI_MANIFEST,
    DOCKER,
    LONGEST_NODE_PREFIX,
    MASTER,
    NAME,
    PATCHES,
    POOLS,
    WORKER,
    KubernetesParams,
)
from mgmt_drivers.cluster.helm.helm_params import helm_of
from mgmt_drivers.cluster.kubeadm.cluster_fields import NAME as CLUSTER_CONFIGURATION
from mgmt_drivers.cluster.nodes.kubelet_fields import why_unknown
from mgmt_drivers.cluster.packages import repository_params
from mgmt_drivers.cluster.packages.repository_params import PackageRepository
from mgmt_drivers.cluster.registries import registries_params
from mgmt_drivers.cluster.storage import storage_params
from mgmt_drivers.package import address_names, floating_ips, volume_names
from mgmt_drivers.params.declaration import ObjectOf, read_object
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.params.reader import Context, Reader
from mgmt_drivers.request import INSTANTIATE, LcmRequest

_LONGEST_POD_PREFIX = 24
# The apiserver keeps no larger one in etcd; kubeadm wants ten addresses (its validation.go).
_SHORTEST_SERVICE_PREFIX, _LONGEST_SERVICE_PREFIX = 12, 28


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
        CP: cps,
        ASPECT: request.aspects,
        storage_params.VOLUME: volume_names(package, flavour),
        storage_params.CP: _storage_cps(request, cps),
    }
    return Context(package, names, is_new=request.operation == INSTANTIATE)


def _storage_cps(request: LcmRequest, cps: Collection[str]) -> Collection[str]:
    """CPs of other VDUs than the nodes'.

    Floating IPs and ports of their own are in the BaseHOT only, and may be anybody's.
    """
    params: Any = request.additional_params.get(NAME)
    given = params if isinstance(params, Mapping) else {}
    pools = given.get(POOLS)
    groups = [given.get(MASTER), given.get(WORKER), *(pools if isinstance(pools, list) else ())]
    named = [group.get("nic_cp_name") for group in groups if isinstance(group, Mapping)]
    nodes = {request.cps.get(cp) for cp in named if isinstance(cp, str)}
    return [cp for cp in cps if cp not in request.cps or request.cps[cp] not in nodes]


def _checked(params: KubernetesParams, reader: Reader, request: LcmRequest) -> KubernetesParams:
    """The parameters with defaults that depend on others; errors are noted in the reader."""
    params = _of_offline_registry(params, reader)
    repository = _package_repository(params, reader)
    storage = storage_params.with_manifests(params.storage, params.manifests, reader)
    proxy = params.proxy
    params = replace(
        params,
        proxy=_with_host_of(repository, proxy) if proxy else None,
        package_repository=repository,
        cni_manifest=_cni_manifest(params, reader),
        is_default_cni=not params.cni_manifest,
        storage=storage,
        helm=helm_of(params.helm, params.helm_script, reader),
        backup=backup_params.placed(params.backup, storage, reader.at(backup_params.NAME)),
    )
    _check_runtime(params, reader)
    _check_floating_ip(params, request, reader)
    _check_networks(params, reader.at(MASTER))
    _check_image_repository(params, reader)
    _check_groups(params, request, reader)
    _check_addons(params, reader.at(addon_params.NAME))
    return replace(params, unmanaged_vdu=_check_machines(params, request, reader))


def _check_groups(params: KubernetesParams, request: LcmRequest, reader: Reader) -> None:
    """The groups of nodes have CPs of their own, and what kubeadm of the series supports."""
    places = [reader.at(MASTER), reader.at(WORKER)]
    places += [reader.at(POOLS).at(number) for number in range(len(params.pools))]
    known: dict[str, str] = {}
    for group, place in zip(params.groups, places, strict=True):
        vdu = request.cps.get(group.nic_cp_name, group.nic_cp_name)
        if vdu and (other := known.get(vdu)):
            place.at("nic_cp_name").refuse(f"must be another VDU's CP than that of {other}")
        known.setdefault(vdu, place.path.partition(".")[2])
        if group.kubelet_config and not params.series.patches_kubelet:
            place.at("kubelet_config").refuse("needs Kubernetes 1.25 or later")
        elif reader.context.is_new:  # a cluster that runs is not locked out
            for field in json.loads(group.kubelet_config or "{}"):
                if reason := why_unknown(field, params.series.minor):
                    place.at("kubelet_config").at(field).refuse(reason)
    if params.kubeadm_patches and not params.series.takes_patches:
        reader.at(PATCHES).refuse("needs Kubernetes 1.22 or later")
    if params.cluster_fields and not params.series.has_v1beta4:
        reader.at(CLUSTER_CONFIGURATION).refuse("needs Kubernetes 1.31 or later")


def _of_offline_registry(params: KubernetesParams, reader: Reader) -> KubernetesParams:
    offline = params.offline
    if not offline:
        return params
    for key in ("package_repository", "image_repository"):
        if reader.has(key):
            reader.at(key).refuse(f"follows from {repository_params.OFFLINE}: leave it out")
    packages = offline.packages(str(params.version))
    return replace(params, package_repository=packages, image_repository=offline.images)


def _package_repository(params: KubernetesParams, reader: Reader) -> PackageRepository:
    """The request's repository, or the Kubernetes project's own for the series."""
    series, key = params.series, "package_repository"
    if not (params.package_repository or reader.has(key)) and series.dockershim:
        reader.at(key).refuse(
            f"missing: the Kubernetes project's own has no packages of {series.name}, only of "
            "1.24 and later"
        )
    chosen = params.package_repository or PackageRepository(repository_params.PUBLIC)
    return replace(chosen, url=chosen.url.replace(repository_params.SERIES, series.name))


def _with_host_of(repository: PackageRepository, proxy: Proxy) -> Proxy:
    """The proxy as apt can use it: apt knows hosts and no networks."""
    url = urlsplit(repository.url)
    host = url.hostname or ""
    if proxy.way_to(url.scheme, host) or host in proxy.no_proxy:
        return proxy
    return replace(proxy, no_proxy=(*proxy.no_proxy, host))


def _check_floating_ip(params: KubernetesParams, request: LcmRequest, reader: Reader) -> None:
    ssh, place = params.master.ssh_cp_name, reader.at(MASTER).at("cluster_fip_name")
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
    if reader.errors.messages:  # of which this might be a consequence
        return None
    known = {group.nic_cp_name for group in params.groups}
    if params.storage:
        known.add(params.storage.ssh_cp_name)
    elsewhere = known - set(request.cps)  # named by their floating IPs
    cps_of = defaultdict(set)
    for cp, vdu in request.cps.items():
        cps_of[vdu].add(cp)
    unnamed = sorted(vdu for vdu, cps in cps_of.items() if not known & cps and not elsewhere)
    may_be_storage = not params.storage and volume_names(request.package, request.flavour)
    if may_be_storage and len(unnamed) == 1:
        return unnamed[0]
    place = reader.at("storage_server" if may_be_storage else POOLS)
    for vdu in unnamed:
        names = ", ".join(sorted(cps_of[vdu]))
        place.refuse(f"no parameter names a CP of VDU {vdu}: {names}")
    return None


def _check_image_repository(params: KubernetesParams, reader: Reader) -> None:
    images, place = params.image_repository, reader.at("image_repository")
    for registry in params.private_registries:
        if images is None or registry.server != registries_params.server_name(images.server):
            continue
        if registry.plain_http != images.plain_http:
            place.refuse(f"{registries_params.NAME} says that it is {registry.url}")
        if registry.login and registry.is_hub:
            place.refuse("must be another registry than Docker Hub, whose logins are for tokens")


def _check_addons(params: KubernetesParams, reader: Reader) -> None:
    images: dict[str, str] = {}  # by their names in image_repository
    for number, addon in enumerate(params.addons):
        place, source = reader.at(number), addon.manifest or addon.values
        content = place.at(addon_params.MANIFEST if addon.manifest else addon_params.VALUES)
        text = source.read_text() if source else ""
        if addon.name in [other.name for other in params.addons[:number]]:
            place.at("name").refuse(f"another add-on is named {addon.name}, too")
        if addon.chart and not params.helm:
            place.at(addon_params.CHART).refuse("needs the parameter helm: Helm renders charts")
        if addon_params.NFS_SERVER in text and not params.storage:
            content.refuse(f"{addon_params.NFS_SERVER} needs a storage_server")
        is_renamed = params.image_repository and addon.manifest
        for image in manifests.images_in(text) if is_renamed else ():
            other = images.setdefault(image.rpartition("/")[2], image)
            if other != image:
                content.refuse(f"image_repository cannot have {image} beside {other}")


def _check_runtime(params: KubernetesParams, reader: Reader) -> None:
    if params.container_runtime == DOCKER and not params.series.dockershim:
        reader.at("container_runtime").refuse(
            f"Kubernetes {params.series.name} has no support for Docker; use containerd"
        )


def _cni_manifest(params: KubernetesParams, reader: Reader) -> Path:
    place = reader.at("cni_manifest_path")
    default = reader.context.package / DEFAULT_CNI_MANIFEST
    if place.value is None and not default.is_file():
        place.refuse(f"missing, and the VNF package has no {DEFAULT_CNI_MANIFEST} either")
    return params.cni_manifest or default


def _check_networks(params: KubernetesParams, reader: Reader) -> None:
    pods, services = reader.at("pod_cidr"), reader.at("cluster_cidr")
    if params.pod_cidr.prefixlen > _LONGEST_POD_PREFIX:
        pods.refuse(
            f"each node takes a /{LONGEST_NODE_PREFIX} of it: use /{_LONGEST_POD_PREFIX} or "
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
