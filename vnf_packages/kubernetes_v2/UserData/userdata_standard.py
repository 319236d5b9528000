"""Where requests find Tacker's own StandardUserData: they name a file of the package."""

from typing import Any

from tacker.sol_refactored.infra_drivers.openstack import userdata_standard


class StandardUserData(userdata_standard.StandardUserData):
    """Tacker's own; but another package leaves the stack as it is, and its script upgrades."""

    @staticmethod
    def change_vnfpkg(*_: Any) -> dict[str, Any]:
        """Return what changes nothing of the stack."""
        return {"parameters": {"nfv": {}}}

    @staticmethod
    def change_vnfpkg_rollback(*_: Any) -> dict[str, Any]:
        """Return what changes nothing of the stack."""
        return {"parameters": {"nfv": {}}}
