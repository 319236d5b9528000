"""Where requests find Tacker's own StandardUserData: they name a file of the package."""

from tacker.sol_refactored.infra_drivers.openstack.userdata_standard import StandardUserData

__all__ = ["StandardUserData"]
