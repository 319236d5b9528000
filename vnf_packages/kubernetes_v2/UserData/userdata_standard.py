"""Tacker's own StandardUserData, with more parameters, and networks that a request leaves out."""

from typing import Any

import yaml
from tacker.sol_refactored.infra_drivers.openstack import userdata_standard

_FIRST_MASTER_CP = "masterNode_CP1-0"


class StandardUserData(userdata_standard.StandardUserData):
    """Tacker's own; but another package leaves the stack as it is, and its script upgrades.

    Operations after the instantiation change the parameter nfv alone, and keep all others.
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
        points = fields["parameters"]["nfv"]["CP"]
        for point in points.values():  # such as that of a storage server which is not used
            if point["network"] is None:
                point["network"] = points[_FIRST_MASTER_CP]["network"]
        params = req.get("additionalParams", {})
        declared = yaml.safe_load(fields["template"])["parameters"]
        given = {name: params[name] for name in declared if name != "nfv" and params.get(name)}
        fields["parameters"].update(given)
        return fields

    @staticmethod
    def change_vnfpkg(*_: Any) -> dict[str, Any]:
        """Return what changes nothing of the stack."""
        return {"parameters": {"nfv": {}}}

    @staticmethod
    def change_vnfpkg_rollback(*_: Any) -> dict[str, Any]:
        """Return what changes nothing of the stack."""
        return {"parameters": {"nfv": {}}}
