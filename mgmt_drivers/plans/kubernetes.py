"""The operations of the Kubernetes cluster VNF."""

from mgmt_drivers.phases.common.await_cloud_init import AwaitCloudInit
from mgmt_drivers.phases.common.check_platform import CheckPlatform
from mgmt_drivers.phases.common.configure_proxy import ConfigureProxy
from mgmt_drivers.phases.kubernetes.await_nodes import AwaitNodes
from mgmt_drivers.phases.kubernetes.balance_api import BalanceApi
from mgmt_drivers.phases.kubernetes.connect_pods import ConnectPods
from mgmt_drivers.phases.kubernetes.grant_vim_access import GrantVimAccess
from mgmt_drivers.phases.kubernetes.init_control_plane import InitControlPlane
from mgmt_drivers.phases.kubernetes.install_kubernetes import InstallKubernetes
from mgmt_drivers.phases.kubernetes.join_nodes import JoinNodes
from mgmt_drivers.phases.kubernetes.pull_images import PullImages
from mgmt_drivers.phases.kubernetes.survey_masters import SurveyMasters
from mgmt_drivers.phases.kubernetes.use_image_repository import UseImageRepository
from mgmt_drivers.plans.plan import Plan

INSTANTIATE: Plan = (
    CheckPlatform(),
    AwaitCloudInit(),
    ConfigureProxy(services=("containerd", "docker")),
    InstallKubernetes(),
    UseImageRepository(),
    PullImages(),
    SurveyMasters(),
    BalanceApi(),
    InitControlPlane(),
    JoinNodes(),
    ConnectPods(),
    AwaitNodes(),
    GrantVimAccess(),
)
