"""What inputs are made of: the requests of the scenarios, and values that the guide explains."""

import copy
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mgmt_drivers.params.declaration import all_parameters
from mgmt_drivers.params.kubernetes import NAME as KUBERNETES
from mgmt_drivers.params.modification import NAME as MODIFICATION
from mgmt_drivers.params.private_registry import NAME as REGISTRY
from mgmt_drivers.params.schema import OBJECTS
from tools.fuzz import keys

_CHECKOUT = Path(__file__).parents[2]
_REQUESTS = _CHECKOUT / "functional" / "requests"
_GUIDE = _CHECKOUT / "doc" / "source"
_JSON = re.compile(r"^\.\. code-block:: json\n\n((?:   .*\n|\n)+)", re.MULTILINE)

FLOATING_IP = "cluster_fip"  # which the scenarios add to packages

_HOST_KEYS = {"host_key": [keys.HOST_KEY, f"SHA256:{'a' * 42}A"]}
_LOGIN = {"private_key": keys.SSH_KEY, **_HOST_KEYS}
# Laid over the exports, one after another; the last is for the nodes alone.
_EXPORTS: Sequence[Mapping[str, Any]] = (
    {"root_squash": True}, {"root_squash": False}, {"export_to": None},
)  # fmt: skip
_MIRROR = {"url": "http://mirror.example.com/apt/", "key_path": "Files/key.asc"}
_PROXY = {
    "http_proxy": "http://me:Pl4nted%21@proxy.example.com:3128",
    "https_proxy": "http://proxy.example.com:3129",
    "no_proxy": "registry.example.com,.lab.test,10.20.0.0/16,[2001:db8::1]:5000",
}

_BACKUP = {"interval": "30m", "keep": 3, "folder": "/var/backups/etcd"}
RESTORED = "Files/backup.tar.gz"

# Laid over a request, for parameters that no scenario's file has.
_VARIATIONS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    KUBERNETES: (
        {},
        {"proxy": {**_PROXY, "k8s_node_cidr": "10.10.0.0/24"}, "etcd_backup": _BACKUP},
        {"package_repository": _MIRROR,
         "image_repository": "http://mirror.example.com:5000/kubernetes"},
        {"package_repository": {"url": "https://mirror.example.com/"}, "proxy": _PROXY,
         "image_repository": "images.example.com/k8s", "kubernetes_version": "1.29.4"},
        {"package_repository": _MIRROR, "kubernetes_version": "1.20", "container_runtime": "docker",
         "cni_manifest_path": "Files/cni.yaml"},
        {"package_repository": _MIRROR, "kubernetes_version": "v1.20.2",
         "master_node": {"pod_cidr": "192.168.0.0/16", "cluster_cidr": "10.199.187.0/24"},
         "restore_from": RESTORED},
        {"master_node": {**_LOGIN, "cluster_fip_name": FLOATING_IP}, "worker_node": _LOGIN},
        {"helm": {"archive_path": "Files/helm.tar.gz"}},
        {"helm": {}, "proxy": _PROXY},
        {"helm_installation_script_path": "Scripts/install_helm.sh", "proxy": _PROXY},
        {"helm_installation_script_path": "Scripts/install_helm.sh"},
        {"proxy": {"http_proxy": "", "https_proxy": _PROXY["https_proxy"], "no_proxy": ""}},
    ),
    REGISTRY: (
        {},
        {"proxy": _PROXY, "port_no": 5001},
        {"image_path": None, "image_url": "http://files.example.com/registry.tar", "proxy": _PROXY,
         "image_sha256": "0a" * 32},
        {"image_path": None, **_HOST_KEYS},
        {"image_path": None, "image_url": "https://files.example.com/registry.tar"},
        {"tls_certificate_path": "Files/tls.crt", "tls_key_path": "Files/tls.key",
         "htpasswd_path": "Files/htpasswd"},
        {"proxy": {"http_proxy": "", "no_proxy": "10.0.0.1"}},
    ),
}  # fmt: skip
# Clusters, each with what it is to become: laid over the smallest cluster, and over the scenario's
# modification.
_MODIFIED: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]] = (
    ({"package_repository": _MIRROR}, {}),
    ({"package_repository": _MIRROR, "proxy": _PROXY},
     {"package_repository": {"url": "https://other.example.com/"}, "workers_at_once": 2}),
    ({"image_repository": "images.example.com/k8s"},
     {"package_repository": {"url": "http://other.example.com/", "key_path": "Files/other.asc"},
      "image_repository": "images.example.com/new"}),
    ({}, {"image_repository": "http://images.example.com:5000/new"}),
    ({}, {"renew_certificates": True, "kubernetes_version": None}),
)  # fmt: skip
BEFORE = "1.36.4"  # the release of clusters that are modified
_MODIFICATION = "kubernetes/upgrade.json"
_SIMPLE = "kubernetes/simple.json"
_WITH_REGISTRIES = (1, 3, 4)  # variations of clusters
_OF_STORAGE = ("storage_server", "pv_registration_params")


@dataclass(frozen=True)
class Seed:
    """A good request: its file and the number of its variation, the parameter and its value.

    ``cluster`` are the parameters of the cluster that the request modifies, if it does.
    """

    file: str
    number: int
    flavour: str
    parameter: str
    params: Mapping[str, Any] = field(repr=False)
    cluster: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return f"{self.file}, variation {self.number}"

    @property
    def has_storage(self) -> bool:
        return "storage_server" in self.params


def all_seeds() -> list[Seed]:
    """Every request in each of the variations, with and without registries."""
    requests = _requests()
    seeds = [
        Seed(file, number, request["flavourId"], parameter, _varied(parameter, number, values))
        for file, request in requests.items()
        for parameter, values in request.get("additionalParams", {}).items()
        for number in range(len(_VARIATIONS.get(parameter, ())))
    ]
    simple = requests[_SIMPLE]
    cluster = {**simple["additionalParams"][KUBERNETES], "kubernetes_version": BEFORE}
    wanted = json.loads(requests[_MODIFICATION]["metadata"][MODIFICATION])
    return seeds + [
        Seed(_MODIFICATION, number, simple["flavourId"], MODIFICATION,
             _laid(wanted, changes), _laid(cluster, before))
        for number, (before, changes) in enumerate(_MODIFIED)
    ]


def _requests() -> dict[str, Any]:
    """The requests by file; and one for a storage server beside the smallest cluster."""
    paths = sorted(_REQUESTS.rglob("*.json"))
    found = {str(p.relative_to(_REQUESTS)): json.loads(p.read_text()) for p in paths}
    with_storage = found["kubernetes/complex_storage.json"]["additionalParams"][KUBERNETES]
    small = copy.deepcopy(found[_SIMPLE])
    for key in _OF_STORAGE:
        small["additionalParams"][KUBERNETES][key] = with_storage[key]
    return {**found, f"{_SIMPLE} with a storage server": small}


def _varied(parameter: str, number: int, values: Mapping[str, Any]) -> Mapping[str, Any]:
    params = _laid(values, _VARIATIONS[parameter][number])
    if parameter == KUBERNETES and number in _WITH_REGISTRIES:
        params["private_registry_connection_info"] = guide_registries()
    if "private_key" in params.get("master_node", {}) and "storage_server" in params:
        storage = params["storage_server"]
        pairs = zip(storage["nfs_server_setup_params"], _EXPORTS, strict=True)
        params["etcd_backup"] = {"interval": "1d"}
        storage |= {**_LOGIN, "nfs_server_setup_params": [_laid(*pair) for pair in pairs]}
    return params


def guide_registries() -> list[dict[str, Any]]:
    """The registries of the guide's example."""
    match = _JSON.search((_GUIDE / "registries.rst").read_text())
    assert match, "the guide has an example of registries"
    found: list[dict[str, Any]] = json.loads(match[1])
    return found


def known_parameters() -> frozenset[str]:
    """Paths of all parameters, those of lists without numbers."""
    return frozenset(p for o in OBJECTS.items() for p, _ in all_parameters(*o))


def _laid(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings are merged; None takes a key away."""
    result = copy.deepcopy(dict(values))
    for key, value in changes.items():
        if isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
            result[key] = _laid(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return {key: value for key, value in result.items() if value is not None}
