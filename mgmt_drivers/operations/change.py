"""Change parameters of a cluster that stays at its version of Kubernetes."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from mgmt_drivers.cluster import changed_params
from mgmt_drivers.cluster.access import service_account
from mgmt_drivers.cluster.access.grant_access import (
    AddVimToken,
    GrantVimAccess,
    RevokeOldVimTokens,
)
from mgmt_drivers.cluster.addons.addon_phases import ApplyAddons
from mgmt_drivers.cluster.backup import backup, backup_keys
from mgmt_drivers.cluster.backup.backup_params import NAME as ETCD_BACKUP
from mgmt_drivers.cluster.certificates import certificate_phases
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.cluster_params import CA_CERTIFICATES, POOLS, WORKER
from mgmt_drivers.cluster.helm.helm_phases import ConfigureHelm
from mgmt_drivers.cluster.kubeadm.control_plane_phases import VerifyControlPlane
from mgmt_drivers.cluster.modification import Change
from mgmt_drivers.cluster.monitoring import monitoring
from mgmt_drivers.cluster.monitoring.monitoring_params import NAME as MONITORING_NAME
from mgmt_drivers.cluster.monitoring.monitoring_phases import ConfigureMonitoring
from mgmt_drivers.cluster.nodes.metadata_phases import MarkNodes
from mgmt_drivers.cluster.nodes.wait_for_nodes import WaitForNodes
from mgmt_drivers.cluster.packages.pull_images import PullImages
from mgmt_drivers.cluster.pod_network.apply_manifest import UpdatePodNetwork
from mgmt_drivers.cluster.registries.configure_registries import ConfigureRegistries
from mgmt_drivers.cluster.registries.registries_params import NAME as REGISTRIES_NAME
from mgmt_drivers.cluster.upgrade.check_cluster import CheckCluster
from mgmt_drivers.cluster.upgrade.upgrade_cluster import KeepParams, SetImageRepository
from mgmt_drivers.engine.operation import RUNNING_LIMIT, Operation
from mgmt_drivers.engine.phase import HostPhase, Work, in_turn, on
from mgmt_drivers.engine.services import Services
from mgmt_drivers.machine.host import Host
from mgmt_drivers.operations import opening
from mgmt_drivers.operations.defragment import ask_etcd
from mgmt_drivers.operations.groups import (
    RUNTIMES,
    Works,
    back_up,
    prepare_backups,
    restart_programs,
)
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.setup.configure_proxy import ConfigureProxy
from mgmt_drivers.setup.stop_units import StopUnits
from mgmt_drivers.setup.trust_certificates import TrustCertificates
from mgmt_drivers.vim import Vims

# No machine has these parameters: operations read them when they need them. Such a change asks the
# leader alone, so that limits of automatic heals can be changed while machines are ill.
_OF_NO_MACHINE = {"automatic_heal", "drain_timeout", "package_repository"}


def change_params(request: LcmRequest, services: Services, vims: Vims, change: Change) -> None:
    """Give the machines other parameters, and then keep the parameters.

    Until the end machines that come get the former parameters.
    """
    named, store = replace(request, operation="change of parameters"), services.store
    known = opening.read_topology(named, services, change.patch)
    known = replace(known, formers=(change.before, *known.formers[1:]))
    with opening.open_operation(named, services, known) as operation:
        leader = opening.choose_leader(operation, known)
        known = opening.read_upgraded(operation, known, leader, change.patch)
        cluster, renews_token = Cluster(known, store, leader), change.instructions.renews_vim_token
        changed = changed_params.join(request, store, change.patch)
        machines: Sequence[Host] = ()
        if change.patch.keys() - _OF_NO_MACHINE or renews_token:
            machines = operation.connect(known.machines, RUNNING_LIMIT)
            etcd, _ = ask_etcd(operation, cluster)
            operation.run(cluster, on([leader], CheckCluster(etcd, is_upgrade=False)))
            operation.run(cluster, *_phases(cluster, change, machines))
            if changed_params.names_logins(change.patch):
                changed_params.save_wanted_logins(store, changed)
            operation.run(known, *opening.change_logins(known, machines))
            opening.move_helm(known, known.control_plane, vims)  # which has the login
            if renews_token:
                _renew_token(operation, cluster, machines, vims)
        operation.run(cluster, on([leader], KeepParams(changed)))
        if machines:
            changed_params.forget_wanted_logins(store)


def _phases(cluster: Cluster, change: Change, machines: Sequence[Host]) -> Works:
    """The phases for parameters that machines have; a retry runs all of them again.

    A parameter that is named with its former value has its phases, too: an attempt that was given
    up may have left another value.

    :param cluster: with the new parameters
    """
    params, before, nodes = cluster.params, change.before, cluster.nodes(machines)
    named = change.patch.keys()
    masters, leader = cluster.masters(machines), [cluster.leader]
    has_other_images = "image_repository" in named
    has_others = params.registries != before.registries  # also by an image repository
    configured = nodes if has_others or REGISTRIES_NAME in named else []
    certified = masters if "api_names" in named else []
    has_other_proxy = "proxy" in named or params.proxy != before.proxy  # also by a repository
    restarting: list[HostPhase[Cluster]] = []  # each of which restarts runtimes
    if CA_CERTIFICATES in named:
        restarting.append(TrustCertificates(params.ca_certificates, RUNTIMES))
    if has_other_proxy:
        restarting.append(ConfigureProxy(cluster.proxy or Proxy(), RUNTIMES))
    backed_up = masters if ETCD_BACKUP in named else []
    monitored = machines if MONITORING_NAME in named else []
    if params.backup and backed_up:
        backup_keys.make_pair(cluster.store)
    return [
        in_turn(certified, certificate_phases.IssueApiCertificate(before.api_names)),
        in_turn(certified, restart_programs(certified)),
        *(_restart_runtimes(cluster, machines, restarting) if restarting else ()),
        on(configured, ConfigureRegistries(before.registries)),
        on(nodes if has_other_images or params.addons else [], PullImages()),
        on(leader if has_other_images else [], SetImageRepository(), UpdatePodNetwork()),
        on(leader if named & {WORKER, POOLS} else [], MarkNodes(before)),
        on(leader if "vim_role" in named else [], GrantVimAccess()),
        on(leader, ApplyAddons()),
        *prepare_backups(cluster, backed_up, cluster.storage(machines)),
        *back_up(cluster, backed_up, are_new=True, is_new_cluster=bool(backed_up)),
        on([] if params.backup else backed_up, StopUnits(backup.TIMER)),
        on(monitored if params.monitoring else [], ConfigureMonitoring()),
        on([] if params.monitoring else monitored, StopUnits(*monitoring.UNITS)),
    ]


def _restart_runtimes(
    cluster: Cluster, machines: Sequence[Host], phases: Sequence[HostPhase[Cluster]]
) -> Works:
    """Run phases that restart the runtimes: each node serves again before the next one."""
    works = list[Work[Cluster]]()
    for host in machines:
        works += [on([host], *phases), on(cluster.masters([host]), VerifyControlPlane())]
        works += [on([cluster.leader], WaitForNodes(cluster.nodes([host])))]
    return works


def _renew_token(operation: Operation, cluster: Cluster, hosts: Sequence[Host], vims: Vims) -> None:
    """Revoke Tacker's old token when Tacker and Helm have another one; a retry makes a third."""
    leader = [cluster.leader]
    operation.run(cluster, on(leader, AddVimToken()))
    if not operation.services.dry_run:
        read = partial(service_account.read_vim, store=cluster.store)
        vims.renew(operation.ask("read the VIM credentials", cluster.leader, read))
    masters = cluster.masters(hosts) if cluster.params.helm else []
    operation.run(cluster, on(masters, ConfigureHelm()), on(leader, RevokeOldVimTokens()))
