"""kubeadm's configuration: what a cluster's parameters mean to kubeadm, kubelet and kube-proxy.

The configuration follows kubeadm's API reference (kubeadm.k8s.io). The differences between versions
of the API are in :mod:`mgmt_drivers.cluster.series`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mgmt_drivers import package_yaml
from mgmt_drivers.cluster.access.kubeconfig import by_token
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.hardening import hardening
from mgmt_drivers.cluster.kubeadm import patches
from mgmt_drivers.cluster.series import Series
from mgmt_drivers.cluster.topology import API_PORT, group_of
from mgmt_drivers.machine.host import Host
from mgmt_drivers.secret import Secret

# Milliseconds, for series whose members of etcd join with a vote. When the second master joins,
# etcd has no quorum for some seconds, until the second member has started: a leader with the
# default timing would step down, and every watch on the cluster would break off. Some
# controllers of Kubernetes 1.20 then miss events for minutes. The price is an API that is silent
# for five to ten seconds when the leader dies, instead of one to two.
_PATIENT_ETCD = {"heartbeat-interval": "500", "election-timeout": "5000"}
# For masters on slow or busy machines: a member of etcd that joins halts writing for a while.
# (kubeadm's API reference, Timeouts; the defaults are one and two minutes.)
_TIMEOUTS = {"kubernetesAPICall": "3m0s", "etcdAPICall": "4m0s"}
_KUBELET = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
# An apiserver that is told to end waits up to a minute for watches, which do not end by themselves,
# and serves nobody else meanwhile. With the argument it ends all other requests, and waits for two
# seconds more (k8s.io/apiserver, pkg/server/genericapiserver.go, RunWithContext).
_QUICK_END = {"shutdown-send-retry-after": "true"}
DESCRIPTION = "tacker-mgmt-drivers"  # of join tokens
# As long as uploaded certificates: the slowest machine may still install packages and pull images.
_TOKEN_LIFETIME = "2h0m0s"  # noqa: S105 - not a token
# Where run-kubeadm puts the kubeconfig with which a machine joins.
_DISCOVERY = "/run/tacker-mgmt-drivers-discovery.conf"


@dataclass(frozen=True)
class JoinCredentials:
    """Credentials for a join: a short-lived token, and the text of the CA to trust.

    ``certificate_key`` lets control-plane nodes fetch the control plane's certificates; without
    one only workers can join. ``encryption`` is the file by which apiservers encrypt Secrets, if
    they do. ``serving`` are the serving certificates of kubelets, by node name.
    """

    token: Secret
    certificate_key: Secret | None
    ca: str = ""
    encryption: Secret | None = None
    serving: Mapping[str, Secret] = field(default_factory=dict)


def for_init(
    host: Host, cluster: Cluster, release: str, token: Secret, proxy: Mapping[str, Any],
    keeps_cgroup_v1: bool,
) -> Secret:
    """The configuration of ``kubeadm init`` on the first control-plane node.

    :param token: which is worth nothing: kubeadm would create one that is valid for a day;
        machines that join get one of their own
    :param proxy: the configuration of kube-proxy
    :param keeps_cgroup_v1: kubelets run on cgroup v1
    """
    first = {
        **_header(cluster, "InitConfiguration"),
        **_timeouts(cluster),
        **_patches(host, cluster),
        "bootstrapTokens": [{"token": token.reveal(), "ttl": "1s"}],
        "nodeRegistration": _registration(host, cluster),
        "localAPIEndpoint": _local_endpoint(host, cluster),
    }
    kubelet: dict[str, Any] = {
        **_KUBELET,
        "cgroupDriver": "systemd",
        "maxPods": _most_pods(cluster),
        **hardening.settings("kubelet", cluster.params),
    }
    if keeps_cgroup_v1:
        kubelet["failCgroupV1"] = False
    return _documents([first, _cluster(cluster, release), kubelet, proxy])


def for_credentials(
    host: Host, cluster: Cluster, release: str, credentials: JoinCredentials
) -> Secret:
    """The configuration of the commands on a control-plane node that create join credentials."""
    init_part: dict[str, Any] = {
        **_header(cluster, "InitConfiguration"),
        **_timeouts(cluster),
        "bootstrapTokens": [{
            "token": credentials.token.reveal(),
            "ttl": _TOKEN_LIFETIME,
            "description": DESCRIPTION,
        }],
        "nodeRegistration": _registration(host, cluster),
    }
    if credentials.certificate_key:
        init_part["certificateKey"] = credentials.certificate_key.reveal()
    return _documents([init_part, _cluster(cluster, release)])


def for_certificate(host: Host, cluster: Cluster, release: str) -> Secret:
    """The configuration of a command that issues a certificate for a node's own programs."""
    node = {
        **_header(cluster, "InitConfiguration"),
        "nodeRegistration": _registration(host, cluster),
        "localAPIEndpoint": _local_endpoint(host, cluster),
    }
    return _documents([node, _cluster(cluster, release)])


def for_validation(host: Host, cluster: Cluster, release: str) -> list[Secret]:
    """Configurations with kubelet's fields of each group of nodes that has some.

    As patches of single nodes, kubeadm would not validate the fields.
    """
    groups = dict.fromkeys(group.kubelet_config for group in cluster.params.groups)
    common = for_certificate(host, cluster, release).reveal()
    return [
        Secret(f"{common}---\n{_documents([{**_KUBELET, **json.loads(fields)}]).reveal()}")
        for fields in filter(None, groups)
    ]


def for_join(host: Host, cluster: Cluster, credentials: JoinCredentials) -> Secret:
    """The input of ``kubeadm join``: a kubeconfig, certificates, and the configuration.

    A control-plane node gets the file of the encryption after it, if there is one; each node gets
    kubelet's serving certificate. With the kubeconfig kubeadm trusts the CA without the ConfigMap
    cluster-info, which the cluster does not show to everybody (kubeadm's documentation, "File or
    HTTPS-based discovery").
    """
    config: dict[str, Any] = {
        **_header(cluster, "JoinConfiguration"),
        **_timeouts(cluster),
        **_patches(host, cluster),
        "nodeRegistration": _registration(host, cluster),
        "discovery": {"file": {"kubeConfigPath": _DISCOVERY}},
    }
    kubeconfig = by_token(cluster.endpoint, credentials.ca, credentials.token, "join", "join")
    parts = [_documents([kubeconfig])]
    if cluster.is_control_plane(host):
        assert credentials.certificate_key
        config["controlPlane"] = {
            "localAPIEndpoint": _local_endpoint(host, cluster),
            "certificateKey": credentials.certificate_key.reveal(),
        }
        parts += [credentials.encryption] if credentials.encryption else []
    parts += [credentials.serving[cluster.name(host)], _documents([config])]
    return Secret("---\n".join(part.reveal() for part in parts))


def kube_proxy(cluster: Cluster, sets_conntrack: bool, has_iptables: bool) -> dict[str, Any]:
    """kube-proxy's part. Its mode is told, since Kubernetes 1.40 will have another default."""
    uses_nftables = cluster.params.series.has_nftables and not has_iptables
    config: dict[str, Any] = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables" if uses_nftables else "iptables",
    }
    if not sets_conntrack:
        config["conntrack"] = {"maxPerCore": 0, "min": 0}  # leave them as they are
    return config


def socket(cluster: Cluster) -> str:
    """Socket of the container runtime, as kubeadm writes it for kubelet."""
    return cluster.params.series.socket_scheme + cluster.runtime.socket


def api_names(cluster: Cluster) -> list[str]:
    """The names and addresses in certificates of apiservers, besides kubeadm's own."""
    return sorted({cluster.topology.address, cluster.topology.public, *cluster.params.api_names})


def add_api_arguments(known: Any, series: Series) -> Any:
    """Add the arguments that a cluster of earlier drivers lacks, in the form of its kubeadm.

    :param known: the cluster's ``extraArgs`` of apiservers, or None
    """
    wanted = _api_arguments(series)
    if not series.has_v1beta4:
        return {**wanted, **(known or {})} or None
    names = [argument["name"] for argument in known or ()]
    lacking = {name: value for name, value in wanted.items() if name not in names}
    return [*(known or ()), *_list_arguments(lacking)]


def _api_arguments(series: Series) -> dict[str, str]:
    return _QUICK_END if series.ends_quickly else {}


def _most_pods(cluster: Cluster) -> int:
    """Kubelet's default, or as many as a node's pod CIDR has addresses for."""
    addresses = 2 ** (32 - cluster.params.node_cidr_prefix)
    return min(110, addresses - 3)  # the network's, the broadcast and the bridge's own


def _cluster(cluster: Cluster, release: str) -> dict[str, Any]:
    mask = {"node-cidr-mask-size": str(cluster.params.node_cidr_prefix)}

    def component(name: str, **others: str) -> dict[str, Any]:
        arguments = {**hardening.settings(name, cluster.params), **others}
        return {"extraArgs": _extra_arguments(cluster, arguments)}

    fields = cluster.params.cluster_fields
    config: dict[str, Any] = {
        **_header(cluster, "ClusterConfiguration"),
        **(fields.shown() if fields else {}),
        "kubernetesVersion": release,
        "controlPlaneEndpoint": cluster.endpoint,
        "networking": {
            "podSubnet": str(cluster.params.pod_cidr),
            "serviceSubnet": str(cluster.params.service_cidr),
        },
        "apiServer": {
            "certSANs": api_names(cluster),
            **component("apiServer", **_api_arguments(cluster.params.series)),
            "extraVolumes": hardening.volumes(),
        },
        "controllerManager": component("controllerManager", **mask),
        "scheduler": component("scheduler"),
    }
    if cluster.topology.is_ha and not cluster.params.series.has_learners:
        timing = _extra_arguments(cluster, _PATIENT_ETCD)
        config["etcd"] = {"local": {"dataDir": "/var/lib/etcd", "extraArgs": timing}}
    if cluster.params.image_repository:
        config["imageRepository"] = cluster.params.image_repository.reference
    return config


def _header(cluster: Cluster, kind: str) -> dict[str, str]:
    return {"apiVersion": f"kubeadm.k8s.io/{cluster.params.series.kubeadm_api}", "kind": kind}


def _timeouts(cluster: Cluster) -> dict[str, Any]:
    return {"timeouts": _TIMEOUTS} if cluster.params.series.has_v1beta4 else {}


def _patches(host: Host, cluster: Cluster) -> dict[str, Any]:
    folder = patches.folder(host, cluster)
    return {"patches": {"directory": folder}} if folder else {}


def _registration(host: Host, cluster: Cluster) -> dict[str, Any]:
    """Labels and taints are on a node from its registration on, before any pod can come."""
    arguments = {"node-ip": cluster.address(host)}
    group = group_of(host.node, cluster.params)
    taints = [taint.shown() for taint in group.taints]
    if group.cloud_provider:
        arguments["cloud-provider"] = group.cloud_provider
    if group.labels:
        arguments["node-labels"] = ",".join(f"{key}={value}" for key, value in group.labels)
    return {
        "name": cluster.name(host),
        "criSocket": socket(cluster),
        **({"taints": taints} if taints else {}),
        "kubeletExtraArgs": _extra_arguments(cluster, arguments),
    }


def _extra_arguments(cluster: Cluster, arguments: Mapping[str, str]) -> Any:
    if cluster.params.series.has_v1beta4:
        return _list_arguments(arguments)
    return dict(arguments)


def _list_arguments(arguments: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in arguments.items()]


def _local_endpoint(host: Host, cluster: Cluster) -> dict[str, Any]:
    return {"advertiseAddress": cluster.address(host), "bindPort": API_PORT}


def _documents(documents: Sequence[Mapping[str, Any]]) -> Secret:
    return Secret(package_yaml.dump(*documents))
