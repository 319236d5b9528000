"""The parameter ``k8s_cluster_modification_param``: what a cluster is to become."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgmt_drivers import package_yaml
from mgmt_drivers.cluster.cluster_params import DRAIN_TIMEOUT, REPLACED, KubernetesParams
from mgmt_drivers.cluster.packages.repository_params import (
    PACKAGE_REPOSITORY,
    ImageRepository,
    ImageRepositoryKind,
    PackageRepository,
)
from mgmt_drivers.cluster.self_healing.rail_params import LIMITS, Limits
from mgmt_drivers.cluster.self_healing.rail_params import NAME as AUTOMATIC_HEAL
from mgmt_drivers.cluster.series import Version, VersionKind, skew
from mgmt_drivers.errors import ParameterError
from mgmt_drivers.params.declaration import ObjectOf, Unless, param
from mgmt_drivers.params.kinds import Count, Flag
from mgmt_drivers.params.reader import Context, Reader, ValidationErrors
from mgmt_drivers.request import LcmRequest

NAME = "k8s_cluster_modification_param"
DEFAULT_FILE = "Files/kubernetes/modification.yaml"
_RENEW, _DEFRAGMENT = "renew_certificates", "defragment_etcd"


@dataclass(frozen=True)
class Modification:
    """The changes that are asked for; None stands for a value that stays."""

    version: Version = param(
        "kubernetes_version", VersionKind(), required=Unless(_RENEW, _DEFRAGMENT), example="1.37",
        meaning="version of the cluster's own series, or of the next one",
    )
    package_repository: PackageRepository | None = param(
        "package_repository", PACKAGE_REPOSITORY,
        meaning="in place of the cluster's; a repository that has one series only has another URL "
        "for each",
        left_out="the cluster's stays",
    )
    image_repository: ImageRepository | None = param(
        "image_repository", ImageRepositoryKind(), example="images.example.com/kubernetes",
        meaning="in place of the cluster's, and of the same registry",
        left_out="the cluster's stays",
    )
    drain_timeout: int | None = param(
        "drain_timeout", DRAIN_TIMEOUT, example="2h",
        meaning="in place of the cluster's",
        left_out="the cluster's stays",
    )
    automatic_heal: Limits | None = param(
        AUTOMATIC_HEAL, LIMITS, example={"share": 25},
        meaning="in place of the cluster's, all of them (:ref:`automatic-heal`)",
        left_out="the cluster's stay",
    )
    workers_at_once: int = param(
        "workers_at_once", Count(), default=1, example=2,
        meaning="how many workers are drained and upgraded at a time",
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


@dataclass(frozen=True)
class Change:
    """A modification that was checked against the cluster as it is.

    ``params`` replaces parameters of the instantiate request, as they stand in a request.
    """

    params: Mapping[str, Any]
    workers_at_once: int
    renews_certificates: bool = False
    defragments_etcd: bool = False

    @property
    def is_upgrade(self) -> bool:
        return not (self.renews_certificates or self.defragments_etcd)


def read_modification(given: Any, before: KubernetesParams, request: LcmRequest) -> Change:
    """Read and check the modification of a cluster.

    :param given: an object, or its text in JSON: Tacker's v1 API keeps nothing but text
    :param before: the parameters of the cluster as it is
    :raises ParameterError: with every error, each with its path
    """
    errors = ValidationErrors()
    reader = Reader(_object(given), NAME, errors, Context(request.package))
    modification = MODIFICATION.parse(reader)
    params = {key: reader.value[key] for key in REPLACED if reader.has(key)}
    change = Change(
        params,
        modification.workers_at_once,
        modification.renews_certificates,
        modification.defragments_etcd,
    )
    if not errors.messages and change.is_upgrade:
        _check(modification, before, reader)
    errors.raise_if_any()
    return change


def _check_alone(modification: Modification, reader: Reader) -> Modification:
    """Refuse a renewal or a defragmentation beside other parameters: an upgrade does both."""
    for alone, is_given in (
        (_RENEW, modification.renews_certificates),
        (_DEFRAGMENT, modification.defragments_etcd),
    ):
        others = {*REPLACED, "workers_at_once", _RENEW, _DEFRAGMENT} - {alone}
        for key in sorted(others) if is_given else ():
            if reader.at(key).value not in (None, False):
                reader.at(key).refuse(f"cannot be combined with {alone}: send a request for each")
    return modification


MODIFICATION = ObjectOf(Modification, _check_alone)


def _check(new: Modification, before: KubernetesParams, reader: Reader) -> None:
    if reason := skew(before.version, new.version):
        reader.at("kubernetes_version").refuse(reason)
    old, images = before.image_repository, new.image_repository
    if old and images and (old.server, old.plain_http) != (images.server, images.plain_http):
        # The pod network may go on using the images of its manifest.
        reader.at("image_repository").refuse(
            f"must be of {old.server}, which has the pod network's images"
        )


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
