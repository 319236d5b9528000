"""The operations of the Kubernetes cluster VNF."""

from mgmt_drivers.engine.phase import Plan
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.backup.backups import (
    ConfigureBackups,
    PrepareBackupStore,
    SaveFirstBackup,
    ShowLastBackup,
)
from mgmt_drivers.phases.backup.restore import (
    ForgetBackup,
    GetBackup,
    KeepNodeMetadata,
    KeepOwnVersion,
    RemoveOldNodes,
    RestartKubeProxy,
    RestoreOldMetadata,
)
from mgmt_drivers.phases.control_plane.certificates import RenewCertificates, RestartPrograms
from mgmt_drivers.phases.control_plane.control_plane import (
    CheckAllReached,
    InitializeControlPlane,
    VerifyControlPlane,
)
from mgmt_drivers.phases.control_plane.etcd_members import (
    CheckEtcdMembers,
    CheckQuorum,
    RemoveEtcdMembers,
    RemoveOrphanedMembers,
)
from mgmt_drivers.phases.control_plane.grant_access import (
    GiveKubeconfig,
    GrantVimAccess,
    RenewKubeconfig,
)
from mgmt_drivers.phases.control_plane.helm import ConfigureHelm, CopyCharts, InstallHelm
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
from mgmt_drivers.phases.nodes.remove_nodes import (
    RemoveNodes,
    RemoveOrphanedNodes,
    ResetControlPlane,
)
from mgmt_drivers.phases.nodes.spread_dns import SpreadDns
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
    InstallHelm(),
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
    SpreadDns(),
    LabelNodes(),
    GiveKubeconfig(),
)

# What expires soon. Also on request, for whatever expires.
RENEW: Plan[Cluster] = (RenewCertificates(), RestartPrograms(), RenewKubeconfig())

# A control-plane node is put into HAProxy only when it is verified.
_SERVE: Plan[Cluster] = (
    CheckAllReached(),
    VerifyControlPlane(),
    ConfigureLoadBalancer(new=False),
    ConfigureLoadBalancer(new=True),
    VerifyVirtualIp(),
    ConfigureHelm(),
    CopyCharts(),
)

_LEAVE: Plan[Cluster] = (RemoveEtcdMembers(), ResetControlPlane(), RemoveNodes())

# Control-plane nodes or the storage server have come.
_BACKUPS: Plan[Cluster] = (ConfigureBackups(), SaveFirstBackup(), ShowLastBackup())

# Also heal of the whole VNF. Of a backup, too: then the nodes of the old cluster go before new ones
# join, whose pod CIDRs they may have.
INSTANTIATE: Plan[Cluster] = (
    *_PREPARE,
    PrepareBackupStore(),
    GetBackup(),
    ConfigureLoadBalancer(),
    InitializeControlPlane(),
    RestartKubeProxy(),
    KeepOwnVersion(),
    KeepNodeMetadata(),
    RemoveOldNodes(),
    *_JOIN,
    RestoreOldMetadata(),
    RegisterVolumes(),
    GrantVimAccess(),
    ConfigureHelm(),
    *_BACKUPS,
    ForgetBackup(),
)

# New machines have come: workers, or control-plane nodes.
SCALE_OUT: Plan[Cluster] = (
    *RENEW,
    RemoveOrphanedMembers(),
    CheckEtcdMembers(),
    *_PREPARE,
    PrepareBackupStore(),
    *_JOIN,
    *_SERVE,
    *_BACKUPS,
)

# Machines are about to go. Control-plane nodes give the virtual IP away and are taken out of
# HAProxy before their apiservers lose etcd.
SCALE_IN: Plan[Cluster] = (
    *RENEW,
    RemoveOrphanedMembers(),
    CheckEtcdMembers(),
    CheckQuorum("the control plane cannot be scaled in now, no node was removed"),
    UncordonNodes(),
    DrainNodes(),
    ReleaseVirtualIp(),
    ConfigureLoadBalancer(),
    *_LEAVE,
    ExportVolumes(),
    PrepareBackupStore(),
    VerifyControlPlane(),
    VerifyVirtualIp(),
    ShowLastBackup(),
)

# What a scale-out that failed has joined is removed again; what matters most comes first, for it
# may fail like the scale-out.
UNDO_SCALE_OUT: Plan[Cluster] = (ReleaseVirtualIp(), *_LEAVE, ConfigureLoadBalancer())

# Machines that came are gone, or about to go; so must their nodes be, if they became any.
ROLL_BACK_SCALE_OUT: Plan[Cluster] = (
    RemoveOrphanedMembers(),
    RemoveOrphanedNodes(),
    ConfigureLoadBalancer(),
    ExportVolumes(),
)

# Machines are about to be replaced. Remove before add: etcd's quorum.
HEAL_START: Plan[Cluster] = (
    CheckQuorum(
        "the control-plane node cannot be healed now, nothing was changed",
        "To have a new cluster instead, heal the whole VNF (a request without vnfcInstanceId)",
    ),
    CheckVolumes(),
    ShowLastBackup(),
    SaveNodeMetadata(),
    UncordonNodes(),
    DrainNodes(),
    RemoveEtcdMembers(),
    RemoveNodes(),
    RemoveVolumes(),
    ConfigureLoadBalancer(),  # the node that leaves is taken out of HAProxy
    ReleaseVirtualIp(),
)

# Others have come in their place. No control-plane node is restarted before the new one serves.
HEAL_END: Plan[Cluster] = (
    *_PREPARE,
    PrepareBackupStore(),
    *_JOIN,
    RestoreNodeMetadata(),
    RegisterVolumes(),
    *_SERVE,
    *_BACKUPS,
    *RENEW,
)

# A new version. Nothing of the cluster changes before every machine has its packages and images.
# kubeadm renews the certificates of a control-plane node that it upgrades, and of no other.
UPGRADE: Plan[Cluster] = (
    CheckCluster(),
    CheckMachines(),
    ShowLastBackup(),
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
    *RENEW,
    VerifyVirtualIp(),
)
