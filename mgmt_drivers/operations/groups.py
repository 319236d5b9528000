"""Phases that several operations share, each with the machines on which the phase runs.

Phases without machines are left out.
"""

from collections.abc import Sequence

from mgmt_drivers.cluster.access.grant_access import GiveKubeconfig
from mgmt_drivers.cluster.backup.backup_phases import (
    ConfigureBackups,
    MakeBackupKey,
    PrepareBackupStore,
    SaveFirstBackup,
    ShowLastBackup,
)
from mgmt_drivers.cluster.certificates.certificate_phases import RestartPrograms
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.etcd.check_disk import CheckDisk
from mgmt_drivers.cluster.etcd.etcd_phases import RemoveEtcdMembers
from mgmt_drivers.cluster.helm.helm_phases import ConfigureHelm, CopyCharts, InstallHelm
from mgmt_drivers.cluster.kubeadm.control_plane_phases import CheckAllReached, VerifyControlPlane
from mgmt_drivers.cluster.kubeadm.join_nodes import join
from mgmt_drivers.cluster.load_balancer.left_out import LeftOut
from mgmt_drivers.cluster.load_balancer.load_balancer_phases import (
    ConfigureLoadBalancer,
    VerifyVirtualIp,
)
from mgmt_drivers.cluster.monitoring.monitoring_phases import ConfigureMonitoring
from mgmt_drivers.cluster.nodes.check_clocks import CheckClocks
from mgmt_drivers.cluster.nodes.metadata_phases import LabelNodes
from mgmt_drivers.cluster.nodes.remove_nodes import RemoveNodes, ResetControlPlane
from mgmt_drivers.cluster.nodes.spread_dns import SpreadDns
from mgmt_drivers.cluster.nodes.wait_for_nodes import WaitForNodes
from mgmt_drivers.cluster.packages.install_packages import InstallPackages, UseOfflineRegistry
from mgmt_drivers.cluster.packages.pull_images import PullImages
from mgmt_drivers.cluster.pod_network.metadata_service import CloseMetadataService
from mgmt_drivers.cluster.registries.configure_registries import ConfigureRegistries
from mgmt_drivers.cluster.storage.nfs_phases import ExportVolumes, MountVolumes, WaitForVolumes
from mgmt_drivers.engine.phase import HostPhase, Work, in_turn, on
from mgmt_drivers.machine.host import Host
from mgmt_drivers.setup.configure_proxy import ConfigureProxy
from mgmt_drivers.setup.preflight import CheckPlatform
from mgmt_drivers.setup.trust_certificates import TrustCertificates

Works = Sequence[Work[Cluster]]
RUNTIMES = ("containerd", "docker")


def prepare(
    cluster: Cluster, new: Sequence[Host], storage: Sequence[Host], staying: Sequence[Host] = (),
    pulling: Sequence[Host] | None = None,
) -> Works:
    """Prepare new machines for the cluster, and let the storage server serve the nodes.

    Nothing is changed before all machines have passed the checks. Then each machine goes on by
    itself.

    :param storage: the storage server, if it is new, or if exports or accounts depend on the nodes
    :param staying: the control-plane nodes that were there before and answer
    :param pulling: the new nodes that pull their images now; default: all
    """
    params, nodes = cluster.params, cluster.nodes(new)
    has_own_helm = params.helm is not None and not params.helm.is_packaged
    first: list[HostPhase[Cluster]] = []
    if params.ca_certificates:
        first.append(TrustCertificates(params.ca_certificates, RUNTIMES))
    if cluster.proxy:
        first.append(ConfigureProxy(cluster.proxy, RUNTIMES))
    if params.offline:
        first.append(UseOfflineRegistry())
    return [
        on(new, CheckPlatform()),
        on([host for host in new if host is not cluster.leader], CheckClocks()),
        on(cluster.masters(new), CheckDisk()),
        on(new, *first, InstallPackages()),
        on(cluster.masters(new) if has_own_helm else [], InstallHelm(), after=()),
        on(cluster.storage(new), WaitForVolumes(), MountVolumes(), after=()),
        on(storage, ExportVolumes(), after=()),
        on(nodes if params.registries else [], ConfigureRegistries(), after=()),
        on(nodes, CloseMetadataService(), after=()),
        on(nodes if pulling is None else pulling, PullImages(), after=()),
        *prepare_backups(cluster, [*staying, *cluster.masters(new)], storage, after=()),
    ]


def prepare_backups(
    cluster: Cluster, masters: Sequence[Host], storage: Sequence[Host],
    after: Sequence[Host] | None = None,
) -> Works:
    """Give control-plane nodes keys for backups, and let the storage server keep backups.

    Without control-plane nodes the store stays as it is: nodes of an earlier version of the drivers
    have no keys yet, and would not be let in.
    """
    if not cluster.params.backup or not masters:
        return []
    return [
        in_turn(masters, MakeBackupKey(), after=after),
        on(storage if cluster.topology.backup_server else [], PrepareBackupStore(), after=masters),
    ]


def join_nodes(
    cluster: Cluster, new: Sequence[Host], members: Sequence[Host], exporting: Sequence[Host]
) -> Works:
    """Join the new machines, except the leader and nodes that an earlier attempt has joined.

    :param exporting: the storage server, if pods may mount its volumes on the new nodes
    """
    nodes, leader = cluster.nodes(new), [cluster.leader]
    spread = [host for host in nodes if host.node in cluster.topology.spread]
    missing = [host for host in nodes if host not in (*leader, *members)]
    masters, workers = cluster.masters(missing), cluster.workers(missing)
    return [
        join(masters, workers, after=[*leader, *exporting]),
        on(leader if nodes else [], WaitForNodes(nodes), SpreadDns(), after=nodes),
        on(leader if spread else [], LabelNodes(spread), after=()),
        give_kubeconfig(cluster, nodes),
        # At last: a machine that joins is not ill.
        on(new if cluster.params.monitoring else [], ConfigureMonitoring(), after=leader),
    ]


def give_kubeconfig(cluster: Cluster, nodes: Sequence[Host]) -> Work[Cluster]:
    """Give the login users of control-plane nodes a kubeconfig.

    With Helm the users get the kubeconfig of the VIM instead, since Tacker deploys charts with it.
    """
    masters = [] if cluster.params.helm else cluster.masters(nodes)
    return on(masters, GiveKubeconfig(), after=())


def serve(cluster: Cluster, masters: Sequence[Host], staying: Sequence[Host]) -> Works:
    """Add new control-plane nodes to the load balancers; ``staying`` are others that answer."""
    if not masters:
        return []
    leader, all_masters = [cluster.leader], [cluster.leader, *staying, *masters]
    return [
        on(leader, CheckAllReached([*staying, *masters]), after=masters),
        on(masters, VerifyControlPlane(), after=leader),
        # First on the other nodes: a keepalived that gets no advertisements from the holder of the
        # virtual IP takes the address, too.
        on(staying, ConfigureLoadBalancer(), after=all_masters),
        on(masters, ConfigureLoadBalancer(), after=all_masters),
        on([*leader, *masters], VerifyVirtualIp(), after=all_masters),
        on(masters if cluster.params.helm else [], ConfigureHelm(), CopyCharts(), after=leader),
    ]


def restart_programs(masters: Sequence[Host]) -> LeftOut:
    """Restart the control plane on a node, to which the load balancers send nobody meanwhile."""
    return LeftOut(RestartPrograms(), masters, ends_connections=False)


def leave(cluster: Cluster, connected: Sequence[Host]) -> Works:
    """Remove the leaving nodes from etcd and the cluster, and reset those that are connected."""
    leader = [cluster.leader]
    return [
        on(leader if cluster.leaving_control_plane else [], RemoveEtcdMembers()),
        on(connected, ResetControlPlane()),
        on(leader, RemoveNodes()),
    ]


def back_up(
    cluster: Cluster, masters: Sequence[Host], are_new: bool, is_new_cluster: bool = False,
    is_server_new: bool = False,
) -> Works:
    """Let control-plane nodes save backups, if the parameters say so.

    A new cluster, or a cluster with a new storage server, saves a first backup, which proves that
    backups can be saved.
    """
    if not cluster.params.backup:
        return []
    leader = [cluster.leader]
    return [
        on(masters if are_new or is_server_new else [], ConfigureBackups(is_server_new)),
        on(leader if is_new_cluster or is_server_new else [], SaveFirstBackup()),
        show_last_backup(cluster),
    ]


def show_last_backup(cluster: Cluster) -> Work[Cluster]:
    return on([cluster.leader] if cluster.params.backup else [], ShowLastBackup())
