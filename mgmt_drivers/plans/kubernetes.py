"""The operations of the Kubernetes cluster VNF."""

from mgmt_drivers.phases.common.await_cloud_init import AwaitCloudInit
from mgmt_drivers.phases.common.check_platform import CheckPlatform
from mgmt_drivers.phases.common.configure_proxy import ConfigureProxy
from mgmt_drivers.phases.kubernetes.await_nodes import AwaitNodes
from mgmt_drivers.phases.kubernetes.balance_api import BalanceApi
from mgmt_drivers.phases.kubernetes.check_quorum import CheckQuorum
from mgmt_drivers.phases.kubernetes.connect_pods import ConnectPods
from mgmt_drivers.phases.kubernetes.connect_registries import ConnectRegistries
from mgmt_drivers.phases.kubernetes.evacuate_nodes import EvacuateNodes
from mgmt_drivers.phases.kubernetes.grant_vim_access import GrantVimAccess
from mgmt_drivers.phases.kubernetes.init_control_plane import InitControlPlane
from mgmt_drivers.phases.kubernetes.install_kubernetes import InstallKubernetes
from mgmt_drivers.phases.kubernetes.join_nodes import JoinNodes
from mgmt_drivers.phases.kubernetes.joining import Coming, Joining
from mgmt_drivers.phases.kubernetes.label_nodes import LabelNodes
from mgmt_drivers.phases.kubernetes.miss_no_master import MissNoMaster
from mgmt_drivers.phases.kubernetes.probe_virtual_ip import ProbeVirtualIp
from mgmt_drivers.phases.kubernetes.prove_control_plane import ProveControlPlane
from mgmt_drivers.phases.kubernetes.pull_images import PullImages
from mgmt_drivers.phases.kubernetes.release_virtual_ip import ReleaseVirtualIp
from mgmt_drivers.phases.kubernetes.remember_marks import RememberMarks
from mgmt_drivers.phases.kubernetes.remove_etcd_members import RemoveEtcdMembers
from mgmt_drivers.phases.kubernetes.remove_nodes import RemoveNodes
from mgmt_drivers.phases.kubernetes.remove_strangers import RemoveStrangers
from mgmt_drivers.phases.kubernetes.restore_marks import RestoreMarks
from mgmt_drivers.phases.kubernetes.share_pod_network import SharePodNetwork
from mgmt_drivers.phases.kubernetes.survey_masters import SurveyMasters
from mgmt_drivers.phases.storage.check_volumes import CheckVolumes
from mgmt_drivers.phases.storage.install_nfs_client import InstallNfsClient
from mgmt_drivers.phases.storage.mount_volumes import MountVolumes
from mgmt_drivers.phases.storage.register_volumes import RegisterVolumes
from mgmt_drivers.phases.storage.remove_volumes import RemoveVolumes
from mgmt_drivers.phases.storage.serve_nfs import ServeNfs
from mgmt_drivers.plans.plan import Plan

_GREET: Plan = (
    Coming(CheckPlatform()),
    Coming(AwaitCloudInit()),
    Coming(ConfigureProxy(services=("containerd", "docker"))),
)

_STORE: Plan = (MountVolumes(), ServeNfs())

_EQUIP: Plan = (
    Joining(InstallNfsClient()),
    Joining(InstallKubernetes()),
    Joining(ConnectRegistries()),
    Joining(PullImages()),
    SurveyMasters(),
)

_JOIN: Plan = (
    Joining(JoinNodes()),
    SharePodNetwork(),
    Joining(ConnectPods()),
    AwaitNodes(),
    LabelNodes(),
)

INSTANTIATE: Plan = (
    *_GREET,
    *_STORE,
    *_EQUIP,
    BalanceApi(),
    InitControlPlane(),
    *_JOIN,
    RegisterVolumes(),
    GrantVimAccess(),
)

# New workers have come.
SCALE_OUT: Plan = (*_GREET, *_EQUIP, *_JOIN)

# Workers are about to go.
SCALE_IN: Plan = (SurveyMasters(), EvacuateNodes(), RemoveNodes())

# What a scale-out that failed has joined is taken out again.
UNDO_SCALE_OUT: Plan = (SurveyMasters(), RemoveNodes())

# Machines that came are gone; so must their nodes be, if they became any.
ROLL_BACK_SCALE_OUT: Plan = (SurveyMasters(), RemoveStrangers())

# Machines are about to be replaced. Remove before add: etcd's quorum.
HEAL_START: Plan = (
    SurveyMasters(),
    CheckQuorum(),
    CheckVolumes(),
    RememberMarks(),
    EvacuateNodes(),
    RemoveEtcdMembers(),
    RemoveNodes(),
    RemoveVolumes(),
    BalanceApi(),
    ReleaseVirtualIp(),
)

# Others have come in their place. A master gets its share of the API's load
# only when it has proved itself.
HEAL_END: Plan = (
    *_GREET,
    *_STORE,
    *_EQUIP,
    *_JOIN,
    RestoreMarks(),
    RegisterVolumes(),
    MissNoMaster(),
    ProveControlPlane(),
    BalanceApi(),
    ProbeVirtualIp(),
)
