"""Upgrade: another version of Kubernetes on all nodes.

The cluster does not change before every machine has its packages and images. kubeadm renews only
the certificates of control-plane nodes that it upgrades.
"""

import functools
import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from mgmt_drivers.cluster import changed_params
from mgmt_drivers.cluster.access.grant_access import GrantVimAccess
from mgmt_drivers.cluster.addons.addon_phases import ApplyAddons
from mgmt_drivers.cluster.backup.backup_phases import ForgetBackup
from mgmt_drivers.cluster.changed_params import Changed
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.cluster_checks import read_params
from mgmt_drivers.cluster.load_balancer.left_out import LeftOut
from mgmt_drivers.cluster.load_balancer.load_balancer_phases import (
    ConfigureLoadBalancer,
    VerifyVirtualIp,
)
from mgmt_drivers.cluster.modification import VERSION, Change
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.nodes.drain_nodes import UncordonNodes
from mgmt_drivers.cluster.packages.pull_images import PullImages
from mgmt_drivers.cluster.pod_network.apply_manifest import UpdatePodNetwork
from mgmt_drivers.cluster.pod_network.metadata_service import CloseMetadataService
from mgmt_drivers.cluster.registries.configure_registries import ConfigureRegistries
from mgmt_drivers.cluster.series import Version, read_version, steps
from mgmt_drivers.cluster.topology import Topology
from mgmt_drivers.cluster.upgrade.check_cluster import CheckCluster, CheckMachines
from mgmt_drivers.cluster.upgrade.prepare_nodes import InstallKubeadm, SaveSnapshot
from mgmt_drivers.cluster.upgrade.upgrade_cluster import (
    KeepVersion,
    SetImageRepository,
    UpgradeCluster,
)
from mgmt_drivers.cluster.upgrade.upgrade_nodes import UpgradeControlPlane, UpgradeWorkers
from mgmt_drivers.engine.operation import RUNNING_LIMIT, Operation
from mgmt_drivers.engine.phase import in_lanes, in_turn, on
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import Explained, MgmtDriverError
from mgmt_drivers.machine.host import Host
from mgmt_drivers.operations import groups, opening
from mgmt_drivers.operations.defragment import ask_etcd, defragment_members
from mgmt_drivers.operations.renew import find_due, renew_due
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.setup.configure_proxy import ConfigureProxy
from mgmt_drivers.setup.trust_certificates import TrustCertificates

LOG = logging.getLogger(__name__)


def upgrade(request: LcmRequest, services: Services, change: Change) -> None:
    """Upgrade the cluster, by one series after another.

    :raises MgmtDriverError: naming the cause, and the versions with which the cluster goes on
    """
    known = opening.read_topology(request, services, change.patch)
    try:
        with opening.open_operation(request, services, known) as operation:
            leader = opening.choose_leader(operation, known)
            known = opening.read_upgraded(operation, known, leader, change.patch)
            nodes = operation.connect(known.nodes, RUNNING_LIMIT)
            for version in _find_steps(operation, known, leader):
                changed = changed_params.join(
                    request, services.store, {**change.patch, VERSION: str(version)}
                )
                params = read_params(changed_params.apply(request, changed))
                cluster = Cluster(replace(known, params=params), services.store, leader)
                workers_at_once = change.instructions.workers_at_once
                _upgrade(operation, cluster, nodes, changed, workers_at_once)
                if services.dry_run:
                    services.dry_run.is_later = True
    except MgmtDriverError as error:
        raise Explained(error, _read_versions(request, services, known)) from error


def _find_steps(operation: Operation, known: Topology, leader: Host) -> Sequence[Version]:
    """Find the versions to upgrade to: from the oldest kubelet, which a former attempt has left."""
    nodes = operation.ask(opening.GATHER, leader, kubectl.list_nodes)
    own = [nodes[name] for name in map(known.name, known.nodes) if name in nodes]
    found = [read_version(kubectl.kubelet_release(node)) for node in own]
    target = known.params.version
    oldest = min(filter(None, found), key=lambda version: version.series.minor, default=target)
    return steps(oldest, target)


def _upgrade(
    operation: Operation, cluster: Cluster, nodes: list[Host], changed: Changed,
    workers_at_once: int,
) -> None:
    """Upgrade all nodes to a version of their series or of the next one."""
    kept = changed_params.load(cluster.store)
    before = changed_params.version_of(operation.request, kept)
    keep = KeepVersion(changed, has_release=before.patch is not None)
    due = find_due(operation, cluster.leader, cluster.topology, [])
    leader = cluster.leader
    masters = sorted(cluster.masters(nodes), key=lambda host: host is not leader)
    etcd, lacks_space = ask_etcd(operation, cluster)
    look = functools.partial(UpdatePodNetwork().look, cluster=cluster)
    updates_network = operation.ask(opening.GATHER, leader, look) is not None
    operation.run(
        cluster,
        on([leader], CheckCluster(etcd)),
        on(nodes, CheckMachines()),
        on([leader], UncordonNodes(), ForgetBackup()),
        *(defragment_members(cluster, masters, etcd) if lacks_space else ()),
        *_prepare(cluster, nodes, updates_network),
        *_upgrade_control_plane(cluster, masters, UpgradeCluster(changed), keep),
        *(in_lanes(workers_at_once, each, UpgradeWorkers()) for each in cluster.pools(nodes)),
        on([leader], GrantVimAccess(), ApplyAddons()),
        *renew_due(cluster, due),
        on([leader] if cluster.topology.is_ha else [], VerifyVirtualIp()),
    )


def _prepare(cluster: Cluster, nodes: list[Host], updates_network: bool) -> groups.Works:
    """Give each node its kubeadm and its images.

    :param updates_network: the CNI manifest will be applied again
    """
    params, trusted = cluster.params, cluster.params.ca_certificates
    return [
        groups.show_last_backup(cluster),
        # The packages may come from a new host, and another VNF package may have other CAs. Both
        # are changed without a runtime's restart, which waits until the node is drained.
        on(nodes if trusted else [], TrustCertificates(trusted)),
        on(nodes if cluster.proxy else [], ConfigureProxy(cluster.proxy)),
        on(nodes if params.registries else [], ConfigureRegistries()),
        on(nodes, InstallKubeadm(), CloseMetadataService()),
        on(nodes, PullImages(is_upgrade=True, with_pod_network=updates_network)),
        on([cluster.leader], SaveSnapshot()),
    ]


def _upgrade_control_plane(
    cluster: Cluster, masters: list[Host], upgrade: UpgradeCluster, keep: KeepVersion
) -> groups.Works:
    """Upgrade the cluster on the leader, then the control-plane nodes one after another.

    :param masters: the leader first
    """
    leader = [cluster.leader]
    return [
        on(masters if cluster.topology.is_ha else [], ConfigureLoadBalancer()),
        on(leader if cluster.params.image_repository else [], SetImageRepository()),
        # While kubeadm upgrades its etcd, too, the apiserver of a node serves nobody.
        on(leader, LeftOut(upgrade, masters, ends_connections=True), keep, UpdatePodNetwork()),
        in_turn(masters, LeftOut(UpgradeControlPlane(), masters, ends_connections=True)),
        # kubeadm has renewed the administrator's certificate.
        groups.give_kubeconfig(cluster, masters),
    ]


def _read_versions(request: LcmRequest, services: Services, known: Topology) -> str:
    """Read the versions of the nodes, with a new login, since the old one may have failed."""
    try:
        with opening.open_operation(request, services, known) as operation:
            leader = opening.choose_leader(operation, known)
            return operation.ask(opening.GATHER, leader, _describe_versions)
    except MgmtDriverError as error:
        LOG.warning("the versions of the nodes are not known: %s", error)
        return "The versions of the nodes are not known, since no control-plane node answers"


def _describe_versions(host: Host) -> str:
    by_release = defaultdict(list)
    for name, node in sorted(kubectl.list_nodes(host).items()):
        state = "" if kubectl.is_ready(node) else ", not ready"
        state += ", cordoned" if kubectl.why_cordoned(node) else ""
        by_release[kubectl.kubelet_release(node)].append(f"{name}{state and f' ({state[2:]})'}")
    listed = "; ".join(f"{release}: {', '.join(names)}" for release, names in by_release.items())
    return (
        f"The nodes have now {listed}. The cluster goes on working with these versions: remove "
        "the cause, then retry"
    )
