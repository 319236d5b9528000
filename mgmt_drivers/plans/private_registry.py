"""The operations of the private registry VNF."""

from mgmt_drivers.phases.common.await_cloud_init import AwaitCloudInit
from mgmt_drivers.phases.common.check_platform import CheckPlatform
from mgmt_drivers.phases.common.configure_proxy import ConfigureProxy
from mgmt_drivers.phases.common.install_docker import InstallDocker
from mgmt_drivers.phases.private_registry.await_registry import AwaitRegistry
from mgmt_drivers.phases.private_registry.provide_image import ProvideImage
from mgmt_drivers.phases.private_registry.run_registry import RunRegistry
from mgmt_drivers.plans.plan import Plan

INSTANTIATE: Plan = (
    CheckPlatform(),
    AwaitCloudInit(),
    ConfigureProxy(services=("docker",)),
    InstallDocker(),
    ProvideImage(),
    RunRegistry(),
    AwaitRegistry(),
)

# A healed registry runs on a new machine, or on one that was found whole: the
# phases look for themselves.
HEAL: Plan = INSTANTIATE
