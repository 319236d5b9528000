"""Tacker's own StandardUserData, with who is let in, and with fixed addresses."""

from typing import Any

import yaml
from tacker.sol_refactored.common import common_script_utils
from tacker.sol_refactored.infra_drivers.openstack import userdata_standard

_DEFAULT_PORT = 5000
_PREFIX = "ssh_remote_ip_prefix"


class StandardUserData(userdata_standard.StandardUserData):
    """The request's lcm-operation-user-data-class; another package leaves the stack as it is.

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
        if others.get(_PREFIX):
            fields["parameters"][_PREFIX] = others[_PREFIX]
            # A heal with ``all`` makes another stack of the template and nfv alone.
            template = yaml.safe_load(fields["template"])
            template["parameters"][_PREFIX]["default"] = others[_PREFIX]
            fields["template"] = yaml.safe_dump(template)
        params = others.get("private_registry_installation_param", {})
        port = int(params.get("port_no") or _DEFAULT_PORT)
        fields["parameters"]["nfv"]["registry_port"] = port
        # Packages of bundles are at the next port.
        last = port + 1 if params.get("bundles") else port
        fields["parameters"]["nfv"]["registry_last_port"] = last
        return fields

    @staticmethod
    def change_vnfpkg(*_: Any) -> dict[str, Any]:
        """Return what changes nothing of the stack, in the form that Tacker reads."""
        return {"parameters": {"nfv": {"VDU": {}, "CP": {}}}}

    change_vnfpkg_rollback = change_vnfpkg
