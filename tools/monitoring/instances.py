"""The machines of clusters, from VNF instances as Tacker's v2 API shows them.

The v1 API's instances are not known to Tacker's Prometheus plugin.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mgmt_drivers.cluster import changed_params
from mgmt_drivers.cluster.cluster_params import NAME, POOLS
from mgmt_drivers.cluster.topology import node_name
from mgmt_drivers.inventory import Node
from mgmt_drivers.tacker.v2 import PARAMS, CallStore

Shown = Mapping[str, Any]

# The properties by which Tacker's plugin heals or scales an instance of its own accord.
PROPERTIES = ("isAutohealEnabled", "isAutoscaleEnabled")
_MONITORING, _PORT = "monitoring", 9100  # the parameter's default port
WORKER = "worker"
_ROLES = {"master_node": "master", "worker_node": WORKER, "storage_server": "storage"}
_ASPECT = "worker_instance"  # of the first group of workers in the packages of this project


@dataclass(frozen=True)
class Machine:
    """One VNFC of a cluster.

    ``vnfc_info_id`` is the id in vnfcInfo, with which Tacker compares an alert's; ``ssh_cp`` names
    the port or floating IP by which the driver reaches the machine; ``port`` is the exporter's.
    ``aspect`` is the scaling aspect of a worker's group; empty if the aspect is not known.
    """

    vnf_id: str
    vnfc_info_id: str
    vdu: str
    role: str
    server_id: str
    ssh_cp: str
    port: int
    aspect: str

    @property
    def node(self) -> str:
        """The node's name; no other server ever has it. A storage server is no node."""
        return node_name(self.role, Node(self.vnfc_info_id, self.vdu, self.server_id, {}))

    def target(self, address: str) -> dict[str, Any]:
        """An entry of a file for Prometheus' file_sd_config."""
        labels = {
            "vnf_instance_id": self.vnf_id,
            "vnfc_info_id": self.vnfc_info_id,
            "vdu": self.vdu,
            "role": self.role,
            "node": self.node,
        }
        if self.aspect:
            labels["aspect_id"] = self.aspect
        return {"targets": [f"{address}:{self.port}"], "labels": labels}


def installation(shown: Shown) -> Shown:
    """The parameters that a cluster has, also by modifications; empty if this is no cluster.

    :raises MgmtDriverError: if the parameters in the instance's metadata are damaged
    """
    store = CallStore({"metadata": shown.get("metadata")}, {})
    own = store.load(PARAMS, {}).get(NAME) or {}
    params: Shown = changed_params.merge(own, changed_params.load(store))
    return params


def is_monitored(shown: Shown) -> bool:
    """Whether a cluster is to heal or scale itself, or its machines report their health."""
    properties = shown.get("vnfConfigurableProperties") or {}
    params = installation(shown)
    wanted = any(properties.get(name) for name in PROPERTIES)
    return bool(params) and (wanted or params.get(_MONITORING) is not None)


def machines(shown: Shown) -> Iterator[Machine]:
    """The machines of an instantiated cluster that the driver manages."""
    info = shown["instantiatedVnfInfo"]
    ids = {vnfc["vnfcResourceInfoId"]: vnfc["id"] for vnfc in info.get("vnfcInfo", ())}
    params = installation(shown)
    port = int((params.get(_MONITORING) or {}).get("port", _PORT))
    groups = [*_groups(params)]
    for resource in info.get("vnfcResourceInfo", ()):
        points = {point["cpdId"] for point in resource.get("vnfcCpInfo", ())}
        for role, group, aspect in groups:
            if points & {group.get("nic_cp_name"), group["ssh_cp_name"]}:
                yield Machine(
                    shown["id"],
                    ids[resource["id"]],
                    resource["vduId"],
                    role,
                    resource["computeResource"]["resourceId"],
                    group["ssh_cp_name"],
                    port,
                    aspect,
                )
                break


def _groups(params: Shown) -> Iterator[tuple[str, Shown, str]]:
    """The groups of machines, each with its role and, of workers, the scaling aspect."""
    for key, role in _ROLES.items():
        if group := params.get(key):
            yield role, group, (group.get("aspect_id") or _ASPECT) if role == WORKER else ""
    for pool in params.get(POOLS) or ():
        yield WORKER, pool, pool.get("aspect_id") or ""
