"""Modify a cluster: its version, parameters, certificates or key, or defragment its etcd."""

from typing import Any

from mgmt_drivers.cluster import changed_params
from mgmt_drivers.cluster.cluster_checks import read_params
from mgmt_drivers.cluster.cluster_params import MASTER
from mgmt_drivers.cluster.cluster_params import NAME as INSTALLATION
from mgmt_drivers.cluster.modification import NAME, Change, read_modification
from mgmt_drivers.cluster.packages import node_packages
from mgmt_drivers.engine.services import Services, Store
from mgmt_drivers.errors import Explained, ParameterError
from mgmt_drivers.operations import change, defragment, renew, rotate, upgrade
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.vim import Vims


def validate(request: LcmRequest, store: Store, modification: Any) -> Change:
    """Check a modification without asking any machine; raises ParameterError."""
    before = changed_params.apply(request, changed_params.load(store))
    asked = read_modification(modification, before)
    if asked.is_upgrade and not node_packages.can_install_some(asked.before.script):
        text = f"the script must use {node_packages.PACKAGES}, as the script of this project does"
        raise ParameterError([f"{INSTALLATION}.script_path: {text}"])
    return asked


def check_package(request: LcmRequest, store: Store) -> None:
    """Check that the VNF package, which may be another one, has what the cluster's parameters name.

    :raises MgmtDriverError: with every error; all later operations would have the same
    """
    try:
        read_params(changed_params.apply(request, changed_params.load(store)))
    except ParameterError as error:
        more = (
            "The VNF package must have all that the parameters of the cluster name: give build the "
            "--file and --overlay of the old package, too, and change to the new one"
        )
        raise Explained(error, more) from error


def note_wanted(request: LcmRequest, store: Store, modification: Any) -> None:
    """Note what Tacker has not kept of an upgrade or a change of logins that ended half-way.

    Machines get the parameters of an upgrade if the cluster has their version.

    :param modification: the parameter ``k8s_cluster_modification_param``
    :raises ParameterError: with every error
    """
    if not note_change(request, store, validate(request, store, modification)):
        text = "only an upgrade or a change of logins can be combined with another operation"
        raise ParameterError([f"{NAME}: {text}"])


def note_change(request: LcmRequest, store: Store, asked: Change) -> bool:
    """Note an upgrade or a change of logins; returns whether the modification is one."""
    wanted = changed_params.join(request, store, asked.patch)
    if asked.is_upgrade:
        changed_params.save_wanted(store, wanted)
    elif changed_params.names_logins(asked.patch):
        changed_params.save_wanted_logins(store, wanted)
    else:
        return False
    return True


def modify(request: LcmRequest, services: Services, vims: Vims, modification: Any) -> None:
    """Do what a modification asks for."""
    asked = validate(request, services.store, modification)
    logins = asked.patch.get(MASTER)
    gives_up = isinstance(logins, dict) and "password" in logins and not logins["password"]
    if gives_up and asked.before.helm and vims.log_in_for_helm:
        text = "must stay: Tacker's v1 API needs the password to run Helm"
        raise ParameterError([f"{NAME}.{MASTER}.password: {text}"])
    if asked.instructions.renews_certificates:
        renew.renew(request, services)
    elif asked.instructions.defragments_etcd:
        defragment.defragment(request, services)
    elif asked.instructions.rotates_key:
        rotate.rotate(request, services)
    elif asked.is_upgrade:
        upgrade.upgrade(request, services, asked)
    else:
        change.change_params(request, services, vims, asked)
