"""Changes of a running cluster's settings: phases that look first, on the machines that they need.

A change whose parameters are as before has no phases.
"""

from collections.abc import Sequence

from mgmt_drivers.cluster.access.grant_access import AddVimToken, RevokeOldVimTokens
from mgmt_drivers.cluster.backup import backup
from mgmt_drivers.cluster.backup.backup_phases import CloseBackupStore
from mgmt_drivers.cluster.certificates.certificate_phases import (
    IssueApiCertificate,
    RestartPrograms,
    SetApiNames,
)
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.cluster_params import KubernetesParams
from mgmt_drivers.cluster.helm.helm_phases import ConfigureHelm
from mgmt_drivers.cluster.kubeadm.control_plane_phases import VerifyControlPlane
from mgmt_drivers.cluster.monitoring import monitoring
from mgmt_drivers.cluster.monitoring.monitoring_phases import ConfigureMonitoring
from mgmt_drivers.cluster.nodes.wait_for_nodes import WaitForNodes
from mgmt_drivers.cluster.packages.install_packages import InstallMissing
from mgmt_drivers.cluster.registries.configure_registries import ConfigureRegistries
from mgmt_drivers.engine.operation import Operation
from mgmt_drivers.engine.phase import Work, in_turn, on
from mgmt_drivers.machine.host import Host
from mgmt_drivers.operations.groups import RUNTIMES, Works, back_up, prepare_backups
from mgmt_drivers.operations.opening import read_vim_credentials
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.setup.configure_proxy import ConfigureProxy
from mgmt_drivers.setup.stop_units import StopUnits
from mgmt_drivers.vim import Vims


def change_settings(
    cluster: Cluster, before: KubernetesParams, machines: Sequence[Host]
) -> Works:
    """Give machines the settings of the cluster in place of the former ones.

    The proxy comes first: packages and registries are reached through it.

    :param machines: all machines
    """
    after, nodes = cluster.params, cluster.nodes(machines)
    has_others = before.registries != after.registries
    return [
        *(_change_proxy(cluster, machines) if before.proxy != after.proxy else ()),
        on(nodes if has_others else [], ConfigureRegistries(before.registries)),
        *(_change_api_names(cluster, before, nodes) if before.api_names != after.api_names else ()),
        *(_change_backups(cluster, before, machines) if before.backup != after.backup else ()),
        *(_change_monitoring(cluster, machines) if before.monitoring != after.monitoring else ()),
    ]


def _change_proxy(cluster: Cluster, machines: Sequence[Host]) -> Works:
    """Restart the runtimes in turn: the next one when the node before serves again."""
    proxy, works = cluster.proxy or Proxy(), list[Work[Cluster]]()
    for host in machines:
        works += [
            on([host], ConfigureProxy(proxy, RUNTIMES)),
            on(cluster.masters([host]), VerifyControlPlane()),
            on([cluster.leader] if cluster.nodes([host]) else [], WaitForNodes([host])),
        ]
    return works


def _change_api_names(
    cluster: Cluster, before: KubernetesParams, nodes: Sequence[Host]
) -> Works:
    return [
        on([cluster.leader], SetApiNames()),
        in_turn(cluster.masters(nodes), IssueApiCertificate(before.api_names), RestartPrograms()),
    ]


def _change_backups(
    cluster: Cluster, before: KubernetesParams, machines: Sequence[Host]
) -> Works:
    masters, storage = cluster.masters(machines), cluster.storage(machines)
    was_there = before.backup is not None and before.backup.is_on_storage_server
    is_left = was_there and not cluster.topology.backup_server
    return [
        *prepare_backups(cluster, masters, storage),
        *back_up(cluster, masters, are_new=True, is_new_cluster=True),
        on([] if cluster.params.backup else masters, StopUnits("backups of etcd", backup.TIMER)),
        on(storage if is_left else [], CloseBackupStore()),
    ]


def _change_monitoring(cluster: Cluster, machines: Sequence[Host]) -> Works:
    if cluster.params.monitoring:
        return [on(machines, InstallMissing(), ConfigureMonitoring())]
    units = (monitoring.SERVICE, monitoring.EXPORTER)
    return [on(machines, StopUnits("monitoring", *units))]


def renew_vim_token(
    operation: Operation, cluster: Cluster, masters: Sequence[Host], vims: Vims
) -> None:
    """Give Tacker another token, and revoke the old token when Tacker and Helm have the new one.

    An attempt that repeats an interrupted one makes one more token, and revokes all others.
    """
    leader = [cluster.leader]
    operation.run(cluster, on(leader, AddVimToken()))
    if not operation.services.dry_run:
        vims.renew(read_vim_credentials(operation, cluster))
    operation.run(
        cluster,
        on(masters if cluster.params.helm else [], ConfigureHelm()),
        on(leader, RevokeOldVimTokens()),
    )
