"""Instantiate: make the VNF's machines a new cluster, or restore a cluster from a backup.

A heal of the whole VNF does the same with the machines that have replaced all others.
"""

import functools
import logging
from collections.abc import Sequence

from mgmt_drivers.cluster import changed_params
from mgmt_drivers.cluster.access import service_account
from mgmt_drivers.cluster.access.grant_access import GrantVimAccess
from mgmt_drivers.cluster.addons.addon_phases import ApplyAddons
from mgmt_drivers.cluster.backup import backup_keys
from mgmt_drivers.cluster.backup.backup_params import Restore
from mgmt_drivers.cluster.backup.backup_phases import ForgetBackup, GetBackup
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.cluster_checks import read_params
from mgmt_drivers.cluster.cluster_params import NAME, KubernetesParams
from mgmt_drivers.cluster.helm.helm_phases import ConfigureHelm
from mgmt_drivers.cluster.kubeadm.control_plane_phases import InitializeControlPlane
from mgmt_drivers.cluster.load_balancer.load_balancer_phases import ConfigureLoadBalancer
from mgmt_drivers.cluster.nodes.check_networks import CheckNetworks
from mgmt_drivers.cluster.nodes.metadata_phases import KeepNodeMetadata, RestoreNodeMetadata
from mgmt_drivers.cluster.nodes.remove_nodes import RemoveOldNodes, RestartKubeProxy
from mgmt_drivers.cluster.packages.pull_images import PullImages
from mgmt_drivers.cluster.pod_network.apply_manifest import ApplyCniManifest
from mgmt_drivers.cluster.storage import nfs
from mgmt_drivers.cluster.storage.volume_phases import RegisterVolumes
from mgmt_drivers.cluster.topology import Topology, check_networks
from mgmt_drivers.engine.phase import on
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import ParameterError
from mgmt_drivers.machine.host import Host
from mgmt_drivers.operations import groups, opening, restore
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.vim import Vim, Vims

LOG = logging.getLogger(__name__)


def validate(request: LcmRequest, vims: Vims) -> None:
    """Check the request before any machine exists."""
    params = read_params(request)
    if params.shares_password:
        LOG.warning(
            "VNF %s: groups of machines have the same password: whoever owns one machine can read "
            "the password at a login, and use it on the others. Give each group its own password",
            request.vnf_instance_id,
        )
    restore.of_instantiation(params)
    name = _vim_name(params, request)
    errors: list[str] = []
    if vims.is_taken(name):
        errors.append(f"{NAME}.vim_name: Tacker already has a VIM {name}; choose another")
    if params.helm and vims.log_in_for_helm and not params.master.login.password:
        errors.append(
            f"{NAME}.master_node.password: missing: Tacker's v1 API needs the password to run Helm"
        )
    if errors:
        raise ParameterError(errors)


def instantiate(request: LcmRequest, services: Services, vims: Vims) -> None:
    """Make the VNF's machines a cluster, and register the cluster in Tacker."""
    known = opening.read_topology(request, services)
    check_networks(known)
    backup = restore.of_instantiation(known.params)
    make_cluster(request, services, vims, known, backup, is_first=True)


def make_cluster(
    request: LcmRequest,
    services: Services,
    vims: Vims,
    known: Topology,
    backup: Restore | None,
    is_first: bool = False,
) -> None:
    """Make all of the VNF's machines a cluster, and register the cluster in Tacker.

    :param is_first: the VNF has not been a cluster before; its networks are looked at
    """
    opening.check_volumes(request, known, known.machines)
    with opening.open_operation(request, services, known) as operation:
        hosts = opening.connect_to_new(operation, known, known.machines)
        opening.check_helm_login(operation, known, hosts, vims)
        marked = opening.read_markers(operation, known, hosts)
        # An earlier attempt may have initialized the control plane.
        leader = next(h for h in [*marked, *hosts] if known.is_control_plane(h.node))
        is_initialized = leader in marked
        members = opening.find_members(operation, known, leader, marked) if is_initialized else []
        cluster = Cluster(known, services.store, leader)
        if is_first and known.storage:
            nfs.make_strict(services.store)
        if known.params.backup:
            is_new = backup is None and not is_initialized
            backup_keys.make_pair(services.store, is_new_cluster=is_new)
        operation.run(
            cluster,
            on(cluster.nodes(hosts) if is_first else [], CheckNetworks()),
            *groups.prepare(cluster, hosts, cluster.storage(hosts), pulling=[leader]),
            *_initialize(cluster, hosts, backup, is_initialized, is_first),
            # The pods of a restored cluster mount volumes.
            *groups.join_nodes(cluster, hosts, members, cluster.storage(hosts) if backup else []),
            *_finish(cluster, hosts, backup),
        )
        if services.dry_run:
            return
        read = functools.partial(service_account.read_vim, store=services.store)
        credentials = operation.ask("read the VIM credentials", leader, read)
    changed_params.forget_wanted_logins(services.store)  # the machines are new
    url = f"https://{known.public}:{known.port}"
    access = opening.helm_access(known, known.control_plane) if known.params.helm else None
    vims.register(Vim(_vim_name(known.params, request), url, credentials, access))


def _initialize(
    cluster: Cluster, hosts: Sequence[Host], backup: Restore | None, is_initialized: bool,
    is_first: bool,
) -> groups.Works:
    """Make the leader the first control-plane node, unless an earlier attempt did.

    The nodes of a restored cluster are removed before new nodes join, since their pod CIDRs may
    collide. kubeadm needs the images of the leader alone; the other nodes pull theirs meanwhile.
    """
    leader = [cluster.leader]
    others = [host for host in cluster.nodes(hosts) if host is not cluster.leader]
    to_initialize = [] if is_initialized else leader
    masters = cluster.masters(hosts) if cluster.topology.is_ha else []
    initialize = InitializeControlPlane(is_first, is_restored=backup is not None)
    initializing = [
        on(masters, ConfigureLoadBalancer(), after=()),
        on(to_initialize, initialize, after=masters),  # one of which has the virtual IP
        on(others, PullImages(), after=()),
    ]
    if backup is None:
        return [*initializing, on(leader, ApplyCniManifest(), after=())]
    return [
        on(to_initialize, GetBackup(backup), after=cluster.storage(hosts)),
        *initializing,
        on(leader, RestartKubeProxy(), KeepNodeMetadata(), RemoveOldNodes(), after=()),
    ]


def _finish(cluster: Cluster, hosts: Sequence[Host], backup: Restore | None) -> groups.Works:
    """Give a cluster, after its nodes have joined, its volumes, accounts, add-ons and backups."""
    leader, storage = [cluster.leader], cluster.storage(hosts)
    masters = cluster.masters(hosts)
    restored = leader if backup else []
    with_addons = leader if cluster.params.addons else restored  # from the backup
    return [
        on(restored, RestoreNodeMetadata(cluster.nodes(hosts)), after=()),
        on(leader if storage else [], RegisterVolumes(backup is not None), after=storage),
        on(leader, GrantVimAccess(is_restored=backup is not None), after=()),
        on(masters if cluster.params.helm else [], ConfigureHelm(), after=leader),
        on(with_addons, ApplyAddons(backup is not None), after=()),
        *groups.back_up(cluster, masters, True, is_new_cluster=True, is_server_new=bool(storage)),
        on(restored, ForgetBackup()),
    ]


def _vim_name(params: KubernetesParams, request: LcmRequest) -> str:
    return params.vim_name or f"kubernetes_vim_{request.vnf_instance_id}"
