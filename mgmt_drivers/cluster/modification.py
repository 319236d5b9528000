"""The parameter ``k8s_cluster_modification_param``: what a cluster is to become."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mgmt_drivers import package_yaml
from mgmt_drivers.cluster import changed_params
from mgmt_drivers.cluster.backup import backup_params
from mgmt_drivers.cluster.cluster_checks import read_params
from mgmt_drivers.cluster.cluster_params import NAME as INSTALLATION
from mgmt_drivers.cluster.cluster_params import KubernetesParams
from mgmt_drivers.cluster.packages.repository_params import SERIES
from mgmt_drivers.cluster.series import skew, steps
from mgmt_drivers.errors import ParameterError
from mgmt_drivers.params import declaration
from mgmt_drivers.params.declaration import ObjectOf, inline, param, parameters
from mgmt_drivers.params.kinds import Count, Flag, is_object
from mgmt_drivers.params.reader import Reader, ValidationErrors, object_of
from mgmt_drivers.request import LcmRequest

NAME = "k8s_cluster_modification_param"
DEFAULT_FILE = "Files/kubernetes/modification.yaml"
VERSION, _RENEW, _DEFRAGMENT = "kubernetes_version", "renew_certificates", "defragment_etcd"
_ROTATE = "rotate_encryption_key"
_ALONE = (_RENEW, _DEFRAGMENT, _ROTATE)
_TOKEN = "renew_vim_token"  # noqa: S105 - not a token
# Parameters that an upgrade may change, too.
WITH_UPGRADE = {
    "package_repository", "image_repository", "drain_timeout", "automatic_heal", "addons",
    "vim_role",
}  # fmt: skip


@dataclass(frozen=True)
class Instructions:
    """The instructions of a modification, besides its changes of parameters."""

    workers_at_once: int = param(
        "workers_at_once", Count(), default=1, example=2,
        meaning="how many workers an upgrade drains and upgrades at a time",
    )
    renews_certificates: bool = param(
        _RENEW, Flag(), default=False, example=True,
        meaning="in place of all others: renews the certificates of the control plane, whenever "
        "they expire (:doc:`certificates`)",
    )
    defragments_etcd: bool = param(
        _DEFRAGMENT, Flag(), default=False, example=True,
        meaning="in place of all others: defragments the databases of etcd, and ends its alarm "
        "``NOSPACE`` (:doc:`etcd`)",
    )
    rotates_key: bool = param(
        _ROTATE, Flag(), default=False, example=True,
        meaning="in place of all others: encrypts the Secrets in etcd by a new key "
        "(:ref:`encryption`)",
    )
    renews_vim_token: bool = param(
        _TOKEN, Flag(), default=False, example=True,
        meaning="gives Tacker another token for its VIM, and revokes the old one "
        "(:doc:`modification`)",
    )


PATCH = ObjectOf(KubernetesParams).patch()


@dataclass(frozen=True)
class Modification:
    """All parameters, for the guide and the JSON schema."""

    patch: Any = inline(PATCH.cls)
    instructions: Instructions = inline(Instructions)


@dataclass(frozen=True)
class Change:
    """A modification that was checked against the cluster as it is.

    ``before`` are the cluster's parameters, and ``patch`` is a JSON Merge Patch (RFC 7396) of
    ``k8s_cluster_installation_param``. If it names a version, also the cluster's own, it is an
    upgrade: the request may be a retry.
    """

    instructions: Instructions
    before: KubernetesParams
    patch: Mapping[str, Any] = field(repr=False)

    @property
    def is_upgrade(self) -> bool:
        return VERSION in self.patch

    @property
    def upgrade(self) -> dict[str, Any]:
        """The keys that an upgrade may change, none of which holds a login; empty without one."""
        names = {VERSION, *WITH_UPGRADE} if self.is_upgrade else set()
        return {key: value for key, value in self.patch.items() if key in names}


def read_modification(given: Any, request: LcmRequest) -> Change:
    """Read and check the modification of a cluster.

    :param given: an object, or its text in JSON: Tacker's v1 API keeps nothing but text
    :param request: with the parameters of the cluster as it is
    :raises ParameterError: with every error, each with its path
    """
    reader = Reader(object_of(given, NAME), NAME, ValidationErrors())
    values = reader.value if is_object(reader) else {}
    instructions = declaration.read_fields(Instructions, reader)
    own = {parameter.name for parameter in parameters(Instructions)}
    patch = {f"{key}": value for key, value in values.items() if key not in own}
    if patch.get(VERSION, ...) is None:  # not given: the default would be an upgrade
        del patch[VERSION]
    change = Change(instructions, read_params(request), patch)
    alone = next((key for key in _ALONE if values.get(key)), "")
    for key, value in values.items() if alone else ():
        if key != alone and value not in (None, False):  # an upgrade does both
            reader.at(f"{key}").refuse(f"cannot be combined with {alone}: send a request for each")
    if not alone and not reader.errors.messages:
        try:
            _check_patch(change, request, reader)
        except RecursionError:
            reader.refuse("has too many objects within each other")
    reader.errors.raise_if_any()
    return change


def _check_patch(change: Change, request: LcmRequest, reader: Reader) -> None:
    """Check the changes, and the parameters with the changes as a whole."""
    names = ", ".join(parameter.name for parameter in parameters(PATCH.cls))
    if not change.patch and not change.instructions.renews_vim_token:
        reader.refuse(f"changes nothing: name {', '.join(_ALONE)} or one of {names}")
    if change.is_upgrade and change.instructions.renews_vim_token:
        reader.at(_TOKEN).refuse(f"cannot be combined with {VERSION}: send a request for each")
    modified = changed_params.apply(request, change.patch)
    objects = [each.additional_params[INSTALLATION] for each in (request, modified)]
    declared = {parameter.name for parameter in parameters(KubernetesParams)}
    unknown = [(key, False) for key in change.patch if key not in declared]
    for path, is_allowed in (*unknown, *declaration.find_changes(KubernetesParams, *objects)):
        if not is_allowed:
            reader.at(path).refuse(f"cannot be changed by a modification, which changes {names}")
        elif change.is_upgrade and re.split(r"[.[]", path)[0] not in {VERSION, *WITH_UPGRADE}:
            reader.at(path).refuse(f"cannot be combined with {VERSION}: send a request for each")
    reader.errors.raise_if_any()
    try:
        after = read_params(modified)
        way = steps(change.before.version, after.version)
        requests = [changed_params.apply(modified, {VERSION: str(step)}) for step in way[:-1]]
        repositories = [read_params(each).package_repository for each in requests]
    except ParameterError as error:
        own = re.compile(rf"^{INSTALLATION}(?=\.({'|'.join(map(re.escape, change.patch))})(?!\w))")
        raise ParameterError([own.sub(NAME, text) for text in error.errors]) from None
    if reason := skew(change.before.version, way[0]):
        reader.at(VERSION).refuse(reason)
    if after.package_repository in repositories and after.package_repository.has_one_series:
        reader.at("package_repository.url").refuse(
            f"is of one series: to go by {', '.join(map(str, way))}, name a repository that has "
            f"each of them, or write {SERIES} in the place of the series"
        )
    _check_result(change, after, reader)


def _check_result(change: Change, after: KubernetesParams, reader: Reader) -> None:
    """Check what only a change can bring about."""
    backup = after.backup if backup_params.NAME in change.patch else None
    if backup and backup.is_on_storage_server and not backup_params.unexported(after.storage):
        reader.at(f"{backup_params.NAME}.folder").refuse(backup_params.EXPORTED)
    old, new = change.before.image_repository, after.image_repository
    if old and (not new or (old.server, old.plain_http) != (new.server, new.plain_http)):
        # The pod network may go on using the images of its manifest.
        why = f"must be of {old.server}, which has the pod network's images"
        reader.at("image_repository").refuse(why)


def of_package(package: Path) -> dict[str, Any]:
    """The modification that a VNF package which replaces another one brings; empty if none.

    :raises ParameterError: if its file is not an object in YAML
    """
    path = package / DEFAULT_FILE
    if not path.is_file():
        return {}
    try:
        values = package_yaml.read(path)
    except package_yaml.BadYaml as error:
        raise ParameterError([f"{DEFAULT_FILE}: {error}"]) from error
    if not isinstance(values, dict):
        raise ParameterError([f"{DEFAULT_FILE}: must be an object"])
    return values
