"""The operations of the Kubernetes cluster VNF."""

from mgmt_drivers.engine.phase import Plan
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.control_plane.check_all_reached import CheckAllReached
from mgmt_drivers.phases.control_plane.check_quorum import CheckQuorum
from mgmt_drivers.phases.control_plane.configure_load_balancer import ConfigureLoadBalancer
from mgmt_drivers.phases.control_plane.grant_vim_access import GrantVimAccess
from mgmt_drivers.phases.control_plane.initialize_control_plane import InitializeControlPlane
from mgmt_drivers.phases.control_plane.release_virtual_ip import ReleaseVirtualIp
from mgmt_drivers.phases.control_plane.remove_etcd_members import RemoveEtcdMembers
from mgmt_drivers.phases.control_plane.verify_control_plane import VerifyControlPlane
from mgmt_drivers.phases.control_plane.verify_virtual_ip import VerifyVirtualIp
from mgmt_drivers.phases.machine.check_platform import CheckPlatform
from mgmt_drivers.phases.machine.configure_proxy import ConfigureProxy
from mgmt_drivers.phases.machine.wait_for_cloud_init import WaitForCloudInit
from mgmt_drivers.phases.nodes.apply_cni_manifest import ApplyCniManifest
from mgmt_drivers.phases.nodes.configure_pod_network import ConfigurePodNetwork
from mgmt_drivers.phases.nodes.configure_registries import ConfigureRegistries
from mgmt_drivers.phases.nodes.drain_nodes import DrainNodes
from mgmt_drivers.phases.nodes.install_packages import InstallPackages
from mgmt_drivers.phases.nodes.join_nodes import JoinNodes
from mgmt_drivers.phases.nodes.label_nodes import LabelNodes
from mgmt_drivers.phases.nodes.pull_images import PullImages
from mgmt_drivers.phases.nodes.remove_nodes import RemoveNodes
from mgmt_drivers.phases.nodes.remove_orphaned_nodes import RemoveOrphanedNodes
from mgmt_drivers.phases.nodes.restore_node_metadata import RestoreNodeMetadata
from mgmt_drivers.phases.nodes.save_node_metadata import SaveNodeMetadata
from mgmt_drivers.phases.nodes.wait_for_nodes import WaitForNodes
from mgmt_drivers.phases.storage.check_volumes import CheckVolumes
from mgmt_drivers.phases.storage.export_volumes import ExportVolumes
from mgmt_drivers.phases.storage.mount_volumes import MountVolumes
from mgmt_drivers.phases.storage.register_volumes import RegisterVolumes
from mgmt_drivers.phases.storage.remove_volumes import RemoveVolumes
from mgmt_drivers.phases.storage.wait_for_volumes import WaitForVolumes

_PREPARE: Plan[Cluster] = (
    CheckPlatform(),
    WaitForCloudInit(),
    ConfigureProxy(services=("containerd", "docker")),
    InstallPackages(),
    WaitForVolumes(),
    MountVolumes(),
    ExportVolumes(),
    ConfigureRegistries(),
    PullImages(),
)

_JOIN: Plan[Cluster] = (
    JoinNodes(),
    ApplyCniManifest(),
    ConfigurePodNetwork(),
    WaitForNodes(),
    LabelNodes(),
)

# Also heal of the whole VNF.
INSTANTIATE: Plan[Cluster] = (
    *_PREPARE,
    ConfigureLoadBalancer(),
    InitializeControlPlane(),
    *_JOIN,
    RegisterVolumes(),
    GrantVimAccess(),
)

# New workers have come.
SCALE_OUT: Plan[Cluster] = (*_PREPARE, *_JOIN)

# Workers are about to go.
SCALE_IN: Plan[Cluster] = (DrainNodes(), RemoveNodes())

# What a scale-out that failed has joined is removed again.
UNDO_SCALE_OUT: Plan[Cluster] = (RemoveNodes(),)

# Machines that came are gone; so must their nodes be, if they became any.
ROLL_BACK_SCALE_OUT: Plan[Cluster] = (RemoveOrphanedNodes(),)

# Machines are about to be replaced. Remove before add: etcd's quorum.
HEAL_START: Plan[Cluster] = (
    CheckQuorum(),
    CheckVolumes(),
    SaveNodeMetadata(),
    DrainNodes(),
    RemoveEtcdMembers(),
    RemoveNodes(),
    RemoveVolumes(),
    ConfigureLoadBalancer(),  # the node that leaves is taken out of HAProxy
    ReleaseVirtualIp(),
)

# Others have come in their place. A control-plane node is put into HAProxy only
# when it is verified.
HEAL_END: Plan[Cluster] = (
    *_PREPARE,
    *_JOIN,
    RestoreNodeMetadata(),
    RegisterVolumes(),
    CheckAllReached(),
    VerifyControlPlane(),
    ConfigureLoadBalancer(),
    VerifyVirtualIp(),
)
