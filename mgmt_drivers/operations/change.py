"""Change parameters of a cluster that stays at its version of Kubernetes."""

from collections.abc import Sequence
from dataclasses import replace

from mgmt_drivers.cluster import changed_params
from mgmt_drivers.cluster.addons.addon_phases import ApplyAddons
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.cluster_params import KubernetesParams
from mgmt_drivers.cluster.modification import Change
from mgmt_drivers.cluster.packages.pull_images import PullImages
from mgmt_drivers.cluster.registries.configure_registries import ConfigureRegistries
from mgmt_drivers.cluster.upgrade.check_cluster import CheckCluster
from mgmt_drivers.cluster.upgrade.upgrade_cluster import KeepParams, SetImageRepository
from mgmt_drivers.engine.operation import RUNNING_LIMIT
from mgmt_drivers.engine.phase import on
from mgmt_drivers.engine.services import Services
from mgmt_drivers.machine.host import Host
from mgmt_drivers.operations import opening
from mgmt_drivers.operations.defragment import ask_etcd
from mgmt_drivers.operations.groups import Works
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.vim import Vims

# No machine has these parameters: operations read them when they need them. Such a change asks the
# leader alone, so that limits of automatic heals can be changed while machines are ill.
_OF_NO_MACHINE = {"automatic_heal", "drain_timeout", "package_repository"}


def change_params(request: LcmRequest, services: Services, vims: Vims, change: Change) -> None:
    """Give the machines other parameters, and then keep the parameters.

    Until the end machines that come get the former parameters.

    :raises MgmtDriverError: naming machine, phase and cause; a retry goes on
    """
    named, store = replace(request, operation="change of parameters"), services.store
    known = opening.read_topology(named, services, change.patch)
    with opening.open_operation(named, services, known) as operation:
        leader = opening.choose_leader(operation, known)
        known = opening.read_upgraded(operation, known, leader, change.patch)
        cluster, works = Cluster(known, store, leader), []
        if change.patch.keys() - _OF_NO_MACHINE:
            machines = operation.connect(known.machines, RUNNING_LIMIT)
            etcd, _ = ask_etcd(operation, cluster)
            works = [on([leader], CheckCluster(etcd, is_upgrade=False))]
            works += _phases(cluster, change.before, machines)
        changed = changed_params.join(request, store, change.patch)
        operation.run(cluster, *works, on([leader], KeepParams(changed)))


def _phases(cluster: Cluster, before: KubernetesParams, machines: Sequence[Host]) -> Works:
    """The phases for parameters that machines have; a retry runs all of them again.

    :param cluster: with the new parameters; ``before`` are the former ones
    """
    params, nodes = cluster.params, cluster.nodes(machines)
    has_other_images = params.image_repository != before.image_repository
    return [
        on(nodes if has_other_images and params.registries else [], ConfigureRegistries()),
        on(nodes if has_other_images or params.addons else [], PullImages()),
        on([cluster.leader] if has_other_images else [], SetImageRepository()),
        on([cluster.leader], ApplyAddons()),
    ]
