"""The parameter ``k8s_cluster_modification_param``: what a cluster is to become."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mgmt_drivers import package_yaml
from mgmt_drivers.cluster import changed_params
from mgmt_drivers.cluster.cluster_checks import read_params
from mgmt_drivers.cluster.cluster_params import NAME as INSTALLATION
from mgmt_drivers.cluster.cluster_params import KubernetesParams
from mgmt_drivers.cluster.series import skew
from mgmt_drivers.errors import ParameterError
from mgmt_drivers.params import declaration
from mgmt_drivers.params.declaration import ObjectOf, inline, param, parameters
from mgmt_drivers.params.kinds import Count, Flag, is_object
from mgmt_drivers.params.reader import Reader, ValidationErrors
from mgmt_drivers.request import LcmRequest

NAME = "k8s_cluster_modification_param"
DEFAULT_FILE = "Files/kubernetes/modification.yaml"
_RENEW, _DEFRAGMENT, _VERSION = "renew_certificates", "defragment_etcd", "kubernetes_version"
_REPOSITORIES = {"package_repository", "image_repository"}
# An upgrade may change these, too.
WITH_UPGRADE = {_VERSION, "drain_timeout", "automatic_heal", "addons"} | _REPOSITORIES


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
        return _VERSION in self.patch


def read_modification(given: Any, request: LcmRequest) -> Change:
    """Read and check the modification of a cluster.

    :param given: an object, or its text in JSON: Tacker's v1 API keeps nothing but text
    :param request: with the parameters of the cluster as it is
    :raises ParameterError: with every error, each with its path
    """
    reader = Reader(_object(given), NAME, ValidationErrors())
    values = reader.value if is_object(reader) else {}
    instructions = declaration.read_fields(Instructions, reader)
    own = {parameter.name for parameter in parameters(Instructions)}
    patch = {f"{key}": value for key, value in values.items() if key not in own}
    change = Change(instructions, read_params(request), patch)
    alone = _RENEW if instructions.renews_certificates else ""
    alone = alone or (_DEFRAGMENT if instructions.defragments_etcd else "")
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
    if not change.patch:
        reader.refuse(f"changes nothing: name {_RENEW}, {_DEFRAGMENT} or one of {names}")
    modified = changed_params.apply(request, change.patch)
    objects = [each.additional_params[INSTALLATION] for each in (request, modified)]
    for path, is_allowed in declaration.find_changes(KubernetesParams, *objects):
        if not is_allowed:
            reader.at(path).refuse(f"cannot be changed by a modification, which changes {names}")
        elif change.is_upgrade and not WITH_UPGRADE & {re.split(r"[.[]", path)[0]}:
            reader.at(path).refuse(f"cannot be combined with {_VERSION}: send a request for each")
    reader.errors.raise_if_any()
    try:
        after = read_params(modified)
    except ParameterError as error:
        own = re.compile(rf"^{INSTALLATION}(?=\.({'|'.join(map(re.escape, change.patch))})(?!\w))")
        raise ParameterError([own.sub(NAME, text) for text in error.errors]) from None
    if reason := skew(change.before.version, after.version):
        reader.at(_VERSION).refuse(reason)
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


def _object(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError) as error:
        raise ParameterError([f"{NAME}: must be an object, or its text in JSON: {error}"]) from None
