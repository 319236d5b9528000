"""The operations of the private registry VNF."""

from mgmt_drivers.engine.phase import Plan
from mgmt_drivers.phases.machine.configure_proxy import ConfigureProxy
from mgmt_drivers.phases.machine.install_docker import InstallDocker
from mgmt_drivers.phases.machine.preflight import CheckPlatform, WaitForCloudInit
from mgmt_drivers.phases.registry.provide_image import ProvideImage
from mgmt_drivers.phases.registry.run_registry import RunRegistry, WaitForRegistry
from mgmt_drivers.phases.registry.vnf import RegistryVnf

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
