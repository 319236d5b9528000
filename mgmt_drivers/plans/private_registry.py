"""The operations of the private registry VNF."""

from mgmt_drivers.engine.phase import Plan
from mgmt_drivers.phases.machine.check_platform import CheckPlatform
from mgmt_drivers.phases.machine.configure_proxy import ConfigureProxy
from mgmt_drivers.phases.machine.install_docker import InstallDocker
from mgmt_drivers.phases.machine.wait_for_cloud_init import WaitForCloudInit
from mgmt_drivers.phases.registry.provide_image import ProvideImage
from mgmt_drivers.phases.registry.run_registry import RunRegistry
from mgmt_drivers.phases.registry.vnf import RegistryVnf
from mgmt_drivers.phases.registry.wait_for_registry import WaitForRegistry

# Heal as well: a healed registry runs on a new machine, or on one that was found
# whole, and the phases look for themselves.
INSTANTIATE: Plan[RegistryVnf] = (
    CheckPlatform(),
    WaitForCloudInit(),
    ConfigureProxy(services=("docker",)),
    InstallDocker(),
    ProvideImage(),
    RunRegistry(),
    WaitForRegistry(),
)
