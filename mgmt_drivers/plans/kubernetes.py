"""The operations of the Kubernetes cluster VNF."""

from mgmt_drivers.engine.phase import Plan
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.control_plane.control_plane import (
    CheckAllReached,
    InitializeControlPlane,
    VerifyControlPlane,
)
from mgmt_drivers.phases.control_plane.etcd_members import CheckQuorum, RemoveEtcdMembers
from mgmt_drivers.phases.control_plane.grant_access import GiveKubeconfig, GrantVimAccess
from mgmt_drivers.phases.control_plane.load_balancer import (
    ConfigureLoadBalancer,
    ReleaseVirtualIp,
    VerifyVirtualIp,
)
from mgmt_drivers.phases.machine.configure_proxy import ConfigureProxy
from mgmt_drivers.phases.machine.preflight import CheckPlatform, WaitForCloudInit
from mgmt_drivers.phases.nodes.check_clocks import CheckClocks
from mgmt_drivers.phases.nodes.configure_registries import ConfigureRegistries
from mgmt_drivers.phases.nodes.drain_nodes import DrainNodes, UncordonNodes
from mgmt_drivers.phases.nodes.install_packages import InstallPackages
from mgmt_drivers.phases.nodes.join_nodes import JoinNodes
from mgmt_drivers.phases.nodes.node_metadata import (
    LabelNodes,
    RestoreNodeMetadata,
    SaveNodeMetadata,
)
from mgmt_drivers.phases.nodes.pod_network import ApplyCniManifest
from mgmt_drivers.phases.nodes.pull_images import PullImages
from mgmt_drivers.phases.nodes.remove_nodes import RemoveNodes, RemoveOrphanedNodes
from mgmt_drivers.phases.nodes.wait_for_nodes import WaitForNodes
from mgmt_drivers.phases.storage.nfs_server import ExportVolumes, MountVolumes, WaitForVolumes
from mgmt_drivers.phases.storage.persistent_volumes import (
    CheckVolumes,
    RegisterVolumes,
    RemoveVolumes,
)
from mgmt_drivers.phases.upgrade.check_cluster import CheckCluster, CheckMachines
from mgmt_drivers.phases.upgrade.prepare_nodes import InstallKubeadm, SaveSnapshot
from mgmt_drivers.phases.upgrade.upgrade_cluster import (
    KeepVersion,
    SetImageRepository,
    UpgradeCluster,
)
from mgmt_drivers.phases.upgrade.upgrade_nodes import UpgradeControlPlane, UpgradeWorkers

_PREPARE: Plan[Cluster] = (
    CheckPlatform(),
    WaitForCloudInit(),
    CheckClocks(),
    ConfigureProxy(services=("containerd", "docker")),
    InstallPackages(),
    WaitForVolumes(),
    MountVolumes(),
    ExportVolumes(),
    ConfigureRegistries(),
    PullImages(),
)

_JOIN: Plan[Cluster] = (
    ApplyCniManifest(),
    JoinNodes(),
    WaitForNodes(),
    LabelNodes(),
    GiveKubeconfig(),
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
SCALE_IN: Plan[Cluster] = (UncordonNodes(), DrainNodes(), RemoveNodes(), ExportVolumes())

# What a scale-out that failed has joined is removed again.
UNDO_SCALE_OUT: Plan[Cluster] = (RemoveNodes(),)

# Machines that came are gone; so must their nodes be, if they became any.
ROLL_BACK_SCALE_OUT: Plan[Cluster] = (RemoveOrphanedNodes(), ExportVolumes())

# Machines are about to be replaced. Remove before add: etcd's quorum.
HEAL_START: Plan[Cluster] = (
    CheckQuorum(),
    CheckVolumes(),
    SaveNodeMetadata(),
    UncordonNodes(),
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

# A new version. Nothing of the cluster changes before every machine has its packages and images.
UPGRADE: Plan[Cluster] = (
    CheckCluster(),
    CheckMachines(),
    # The packages may come from another host. No runtime is restarted for it.
    ConfigureProxy(services=()),
    ConfigureRegistries(),
    InstallKubeadm(),
    PullImages(),
    SaveSnapshot(),
    ConfigureLoadBalancer(),
    SetImageRepository(),
    UpgradeCluster(),
    KeepVersion(),
    UpgradeControlPlane(),
    GiveKubeconfig(),  # kubeadm has renewed the administrator's certificate
    UpgradeWorkers(),
    VerifyVirtualIp(),
)
