"""The parameter ``k8s_cluster_modification_param``: what a cluster is to become."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mgmt_drivers import package_yaml
from mgmt_drivers.errors import ParameterError
from mgmt_drivers.params.kubernetes import (
    KubernetesParams,
    read_image_repository,
    read_kubernetes_version,
    read_package_repository,
)
from mgmt_drivers.params.reader import Reader, ValidationErrors
from mgmt_drivers.params.series import skew

NAME = "k8s_cluster_modification_param"
DEFAULT_FILE = "Files/kubernetes/modification.yaml"
# Parameters of the instantiate request that a modification replaces.
_REPLACED = ("kubernetes_version", "package_repository", "image_repository")


@dataclass(frozen=True)
class Modification:
    """What is asked for.

    ``changed`` replaces parameters of the instantiate request, as they stand in a request.
    """

    changed: Mapping[str, Any] = field(default_factory=dict)
    workers_at_once: int = 1


def read_modification(
    wanted: Any, before: KubernetesParams, package: Path
) -> Modification:
    """Read and check what a cluster is to become.

    :param wanted: an object, or its text in JSON: Tacker's v1 API keeps nothing but text
    :param before: the parameters of the cluster as it is
    :raises ParameterError: with every error, each with its path
    """
    errors = ValidationErrors()
    values = _object(wanted)
    reader = Reader(values, NAME, errors)
    if reader.usable and not reader.has("kubernetes_version"):
        reader.error("kubernetes_version", "missing")
    version = read_kubernetes_version(reader)
    if reader.has("package_repository"):
        read_package_repository(reader, version.series, package)
    if reader.has("image_repository"):
        _check_images(reader, before)
    at_once = reader.count("workers_at_once", 1)
    reader.end()
    reason = "" if errors.found else skew(before.version, version)
    if reason:
        reader.error("kubernetes_version", reason)
    errors.raise_if_any()
    return Modification({key: values[key] for key in _REPLACED if reader.has(key)}, at_once)


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
    except ValueError as error:
        raise ParameterError([f"{NAME}: must be an object, or its text in JSON: {error}"]) from None


def _check_images(reader: Reader, before: KubernetesParams) -> None:
    """The pod network goes on using the images of its manifest: their registry has to stay."""
    old, new = before.image_repository, read_image_repository(reader)
    if old and new and (old.server, old.plain_http) != (new.server, new.plain_http):
        reader.error(
            "image_repository", f"must be of {old.server}, which has the pod network's images"
        )
