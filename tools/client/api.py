"""The versions of Tacker's LCM API: the differences of their requests and answers.

Requests are written for the v1 API, and translated for the v2 API.
"""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mgmt_drivers.tacker.v2 import USER_DATA
from tools.client.errors import ClientError

if TYPE_CHECKING:
    from tackerclient.v1_0.client import Client

_ADDRESS = {"ipAddresses": [{"type": "IPV4", "numDynamicAddresses": 1}]}
_OPENSTACK = "ETSINFV.OPENSTACK_KEYSTONE.V_3"
KUBERNETES = ("kubernetes", "ETSINFV.KUBERNETES.V_1", "ETSINFV.HELM.V_3")


@dataclass(frozen=True)
class ClusterVim:
    """A cluster that is registered in Tacker as a VIM; a new cluster has a new ``id``."""

    id: str
    name: str
    auth_url: str


class V1:
    """ETSI SOL003 2.6.1. ``variant`` is the suffix of the names of the version's VNF packages.

    ``ends_modifications``: *fail* ends a modification that has failed. Through v1 Tacker 16 answers
    with status 500, and other operations do not need the end.
    """

    version, variant, ends_modifications = "1", "", False

    def instantiation(self, request: dict[str, Any]) -> dict[str, Any]:
        return request

    def operation(self, request: dict[str, Any]) -> dict[str, Any]:
        """A request for scale or heal."""
        return request

    def vnfcs(self, instance: dict[str, Any]) -> list[dict[str, Any]]:
        """VNFC resources, with the ``id`` for a heal request."""
        resources: list[dict[str, Any]] = instance["instantiatedVnfInfo"]["vnfcResourceInfo"]
        return resources

    def cluster_vims(self, instance: dict[str, Any], client: "Client") -> list[ClusterVim]:
        vims = []
        for connection in instance.get("vimConnectionInfo", ()):
            if connection["vimType"] not in KUBERNETES:
                continue
            vim = client.show_vim(connection["vimId"])["vim"]
            if (vim["status"], vim["auth_url"]) != ("ACTIVE", connection["accessInfo"]["authUrl"]):
                raise ClientError(f"{vim} differs from the instance's connection: {connection}")
            vims.append(ClusterVim(vim["id"], vim["name"], vim["auth_url"]))
        return vims


class V2:
    """ETSI SOL003 3.3.1. Every request names the UserData."""

    version, variant, ends_modifications = "2", "_v2", True

    def instantiation(self, request: dict[str, Any]) -> dict[str, Any]:
        (vim,) = request["vimConnectionInfo"]
        links = [
            {**link, "extCps": [_cp(cp) for cp in link["extCps"]]}
            for link in request["extVirtualLinks"]
        ]
        connection = {"vimId": vim["vimId"], "vimType": _OPENSTACK}
        changes = {"vimConnectionInfo": {"vim1": connection}, "extVirtualLinks": links}
        return self.operation({**request, **changes})

    def operation(self, request: dict[str, Any]) -> dict[str, Any]:
        params = request.get("additionalParams", {})
        return {**request, "additionalParams": {**params, **USER_DATA}}

    def vnfcs(self, instance: dict[str, Any]) -> list[dict[str, Any]]:
        info = instance["instantiatedVnfInfo"]
        ids = {vnfc["vnfcResourceInfoId"]: vnfc["id"] for vnfc in info["vnfcInfo"]}
        return [{**resource, "id": ids[resource["id"]]} for resource in info["vnfcResourceInfo"]]

    def cluster_vims(self, instance: dict[str, Any], client: "Client") -> list[ClusterVim]:
        vims = instance.get("vimConnectionInfo", {}).values()
        return [
            ClusterVim(
                hashlib.sha256(vim["interfaceInfo"]["ssl_ca_cert"].encode()).hexdigest(),
                vim["vimId"],
                vim["interfaceInfo"]["endpoint"],
            )
            for vim in vims
            if vim["vimType"] in KUBERNETES
        ]


Api = V1 | V2


def _cp(cp: dict[str, Any]) -> dict[str, Any]:
    """A CP for v2: a map of configurations, with the addresses that v1 assigns by default."""
    (config,) = cp["cpConfig"]
    protocols = [{"ipOverEthernet": _ADDRESS, **data} for data in config["cpProtocolData"]]
    return {"cpdId": cp["cpdId"], "cpConfig": {f"{cp['cpdId']}_1": {"cpProtocolData": protocols}}}
