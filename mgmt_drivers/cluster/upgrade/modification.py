"""The parameter ``k8s_cluster_modification_param``: what a cluster is to become."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgmt_drivers import package_yaml
from mgmt_drivers.cluster.cluster_params import (
    ImageRepository,
    KubernetesParams,
    PackageRepository,
    read_image_repository,
    read_kubernetes_version,
    read_package_repository,
)
from mgmt_drivers.cluster.series import Version, skew
from mgmt_drivers.errors import ParameterError
from mgmt_drivers.params.reader import Reader, ValidationErrors
from mgmt_drivers.request import LcmRequest

NAME = "k8s_cluster_modification_param"
DEFAULT_FILE = "Files/kubernetes/modification.yaml"
_RENEW = "renew_certificates"
# Parameters of the instantiate request that a modification replaces.
REPLACED = ("kubernetes_version", "package_repository", "image_repository")


@dataclass(frozen=True)
class Modification:
    """What is asked for, but for what stays as it is."""

    version: Version
    package_repository: PackageRepository | None = None
    image_repository: ImageRepository | None = None
    workers_at_once: int = 1
    renews_certificates: bool = False


@dataclass(frozen=True)
class Change:
    """A modification that was checked against the cluster as it is.

    ``params`` replaces parameters of the instantiate request, as they stand in a request.
    """

    params: Mapping[str, Any]
    workers_at_once: int
    renews_certificates: bool = False


def read_modification(wanted: Any, before: KubernetesParams, request: LcmRequest) -> Change:
    """Read and check what a cluster is to become.

    :param wanted: an object, or its text in JSON: Tacker's v1 API keeps nothing but text
    :param before: the parameters of the cluster as it is
    :raises ParameterError: with every error, each with its path
    """
    values = _object(wanted)
    errors = ValidationErrors()
    reader = Reader(values, NAME, errors)
    found = read(reader, request)
    if not errors.found and not found.renews_certificates:
        _check(found, before, reader)
    errors.raise_if_any()
    params = {key: values[key] for key in REPLACED if reader.has(key)}
    return Change(params, found.workers_at_once, found.renews_certificates)


def read(reader: Reader, request: LcmRequest) -> Modification:
    """Read everything; errors are noted in the reader."""
    renews_certificates = reader.flag(_RENEW)
    if renews_certificates:
        for key in filter(reader.has, (*REPLACED, "workers_at_once")):
            reader.error(key, f"must not stand beside {_RENEW}: an upgrade renews them anyway")
    elif reader.usable and not reader.has("kubernetes_version"):
        reader.error("kubernetes_version", f"missing, or {_RENEW} instead")
    version = read_kubernetes_version(reader)
    packages = None
    if reader.has("package_repository"):
        packages = read_package_repository(reader, version.series, request.package)
    found = Modification(
        version,
        packages,
        read_image_repository(reader),
        reader.count("workers_at_once", 1),
        renews_certificates,
    )
    reader.end()
    return found


def _check(found: Modification, before: KubernetesParams, reader: Reader) -> None:
    reason = skew(before.version, found.version)
    if reason:
        reader.error("kubernetes_version", reason)
    old, new = before.image_repository, found.image_repository
    if old and new and (old.server, old.plain_http) != (new.server, new.plain_http):
        # The pod network goes on using the images of its manifest.
        reader.error(
            "image_repository", f"must be of {old.server}, which has the pod network's images"
        )


def of_package(package: Path) -> dict[str, Any]:
    """What a VNF package that replaces another one wants its cluster to become, if anything.

    :raises ParameterError: when its file is no object in YAML
    """
    path = package / DEFAULT_FILE
    if not path.is_file():
        return {}
    try:
        found = package_yaml.read(path)
    except package_yaml.BadYaml as error:
        raise ParameterError([f"{DEFAULT_FILE}: {error}"]) from error
    if not isinstance(found, dict):
        raise ParameterError([f"{DEFAULT_FILE}: must be an object"])
    return found


def _object(wanted: Any) -> Any:
    if not isinstance(wanted, str):
        return wanted
    try:
        return json.loads(wanted)
    except (ValueError, RecursionError) as error:
        raise ParameterError([f"{NAME}: must be an object, or its text in JSON: {error}"]) from None
