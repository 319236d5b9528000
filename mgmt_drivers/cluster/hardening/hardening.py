"""Settings that kubeadm gets beyond its defaults, and the files of control-plane nodes for them.

The settings follow the CIS Kubernetes Benchmark. They are kept in the cluster's own configuration,
so that a machine that joins, and an upgrade, get those with which the cluster was made: files never
get other names, and are of versions that all releases read which know the setting.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from mgmt_drivers.cluster.cluster_params import KubernetesParams
from mgmt_drivers.cluster.hardening import encryption
from mgmt_drivers.machine.files import File
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

_FOLDER = "/etc/kubernetes/apiserver"  # which kubeadm does not reset
_AUDIT_LOGS = "/var/log/kubernetes/audit"
_CIPHERS = (
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
)  # of TLS 1.2; those of TLS 1.3 are always on


@dataclass(frozen=True)
class _Setting:
    """A later setting of a name replaces an earlier one.

    ``since`` is the first minor release that knows the setting; ``is_cis`` tells that only clusters
    with the parameter ``hardening`` get it.
    """

    name: str
    value: Any
    since: int = 0
    is_cis: bool = False


_PROFILING = _Setting("profiling", "false")
# kubeadm's own value, and more.
_PLUGINS = "NodeRestriction,AlwaysPullImages,EventRateLimit"
# Arguments of the programs of the control plane, by the name of their part in ClusterConfiguration,
# and fields of KubeletConfiguration.
_SETTINGS: Mapping[str, Sequence[_Setting]] = {
    "apiServer": (
        _PROFILING,
        _Setting("service-account-extend-token-expiration", "false"),
        _Setting("tls-cipher-suites", ",".join(_CIPHERS)),
        _Setting("encryption-provider-config", encryption.FILE),
        _Setting("kubelet-certificate-authority", "/etc/kubernetes/pki/ca.crt"),
        _Setting("audit-policy-file", f"{_FOLDER}/audit-policy.yaml"),
        _Setting("audit-log-path", f"{_AUDIT_LOGS}/audit.log"),
        _Setting("audit-log-maxage", "30"),  # days
        _Setting("audit-log-maxbackup", "10"),
        _Setting("audit-log-maxsize", "100"),  # MiB of each file
        _Setting("authentication-config", f"{_FOLDER}/authentication.yaml", since=32),
        _Setting("admission-control-config-file", f"{_FOLDER}/admission.yaml", is_cis=True),
        _Setting("enable-admission-plugins", _PLUGINS, is_cis=True),
        _Setting(
            "enable-admission-plugins", f"{_PLUGINS},DenyServiceExternalIPs", since=21, is_cis=True
        ),
    ),
    "controllerManager": (
        _PROFILING,
        _Setting("terminated-pod-gc-threshold", "1000", is_cis=True),
    ),
    "scheduler": (_PROFILING,),
    "kubelet": (
        _Setting("podPidsLimit", 4096),
        _Setting("streamingConnectionIdleTimeout", "4h0m0s"),
        _Setting("tlsCipherSuites", [*_CIPHERS]),
        _Setting("seccompDefault", True, since=25),
        _Setting("protectKernelDefaults", True, is_cis=True),
    ),
}
# The files of the folder, read when the module is imported, like scripts.
_TEXTS = {
    f"{_FOLDER}/{name}": (resources.files(__package__ or "") / name).read_text()
    for name in ("audit-policy.yaml", "authentication.yaml", "admission.yaml")
}
# The folder of the audit log on control-plane nodes; one that kubelet makes is open to all.
LOG_FOLDER = File(f"{_AUDIT_LOGS}/", "", "0700")
# Restricts the files of a node, after a command behind its own words.
RESTRICT = Script(__package__, "restrict-files")
_SET_KERNEL = Script(__package__, "kernel-defaults")


def settings(component: str, params: KubernetesParams) -> dict[str, Any]:
    """The settings of a program: of ``kubelet``, or by its part in ClusterConfiguration."""
    return {
        setting.name: setting.value
        for setting in _SETTINGS[component]
        if setting.since <= params.series.minor and (params.hardening or not setting.is_cis)
    }


def volumes() -> list[dict[str, Any]]:
    """The folders of the machine that the apiserver has besides kubeadm's (HostPathMount)."""
    return [
        {
            "name": "apiserver-settings", "hostPath": _FOLDER, "mountPath": _FOLDER,
            "readOnly": True, "pathType": "Directory",
        },
        {
            "name": "audit-log", "hostPath": _AUDIT_LOGS, "mountPath": _AUDIT_LOGS,
            "pathType": "DirectoryOrCreate",
        },
    ]


def set_kernel_defaults(host: Host, params: KubernetesParams) -> None:
    """Set what kubelet wants of a node's kernel, if kubelet may not do so."""
    if params.hardening:
        host.sudo(*_SET_KERNEL.command())


def control_plane_files(params: KubernetesParams) -> list[File]:
    named = settings("apiServer", params).values()
    return [File(path, text, "0600") for path, text in _TEXTS.items() if path in named]
