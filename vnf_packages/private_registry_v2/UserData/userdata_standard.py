"""Tacker's own StandardUserData, with who is let in, and with fixed addresses."""

from typing import Any

from tacker.sol_refactored.common import common_script_utils
from tacker.sol_refactored.infra_drivers.openstack import userdata_standard

_DEFAULT_PORT = 5000
_PREFIX = "ssh_remote_ip_prefix"
_GIVEN = "parameters"  # in nfv, the one parameter that Tacker keeps when it makes another stack


class StandardUserData(userdata_standard.StandardUserData):
    """The request's lcm-operation-user-data-class.

    Operations after the instantiation change the parameter nfv in parts, and keep port and prefix.
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
        for name, point in fields["parameters"]["nfv"]["CP"].items():
            cp = name.rpartition("-")[0]
            # Tacker fills in a list of addresses only where a template takes them one by one.
            found = common_script_utils.get_param_fixed_ips(cp, grant, req)
            point["addresses"] = found or []
        others = req.get("additionalParams", {})
        given = {_PREFIX: others[_PREFIX]} if others.get(_PREFIX) else {}
        fields["parameters"].update(given)
        fields["parameters"]["nfv"][_GIVEN] = given
        params = others.get("private_registry_installation_param", {})
        fields["parameters"]["nfv"]["registry_port"] = int(params.get("port_no", _DEFAULT_PORT))
        return fields

    @staticmethod
    def heal(
        req: dict[str, Any],
        inst: dict[str, Any],
        grant_req: dict[str, Any],
        grant: dict[str, Any],
        tmp_csar_dir: str,
    ) -> dict[str, Any]:
        """Return the stack's parameters: with ``all`` Tacker gives no others to a new stack."""
        fields: dict[str, Any] = userdata_standard.StandardUserData.heal(
            req, inst, grant_req, grant, tmp_csar_dir
        )
        known = inst["instantiatedVnfInfo"]["metadata"]["nfv"]
        fields["parameters"].update(known.get(_GIVEN, {}))
        return fields
