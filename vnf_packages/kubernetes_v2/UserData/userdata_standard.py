"""Tacker's own StandardUserData, and what it does not take from a request: the pod CIDR."""

import ipaddress
from typing import Any

from tacker.sol_refactored.infra_drivers.openstack import userdata_standard

_DEFAULT_POD_CIDR = "192.168.0.0/16"


class StandardUserData(userdata_standard.StandardUserData):
    """The request's lcm-operation-user-data-class.

    Operations after the instantiation change the parameter nfv in parts, and keep the pod CIDR.
    """

    @staticmethod
    def instantiate(
        req: dict[str, Any],
        inst: dict[str, Any],
        grant_req: dict[str, Any],
        grant: dict[str, Any],
        tmp_csar_dir: str,
    ) -> dict[str, Any]:
        """Return the stack's template and parameters."""
        fields: dict[str, Any] = userdata_standard.StandardUserData.instantiate(
            req, inst, grant_req, grant, tmp_csar_dir
        )
        fields["parameters"]["nfv"]["pod_cidr"] = _pod_cidr(req)
        return fields


def _pod_cidr(request: dict[str, Any]) -> str:
    """Return the pods' network without host bits, with which Neutron's OVN matches nothing."""
    installation = request.get("additionalParams", {}).get("k8s_cluster_installation_param", {})
    cidr = installation.get("master_node", {}).get("pod_cidr", _DEFAULT_POD_CIDR)
    return str(ipaddress.IPv4Network(cidr, strict=False))
