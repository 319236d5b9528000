"""What a request for another version of a cluster, or for new certificates, means."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from tools.fuzz import meaning_kubernetes, syntaxes
from tools.fuzz.machines import newest
from tools.fuzz.meaning import STATE, Finding, Meaning, either
from tools.fuzz.seeds import BEFORE

_REPLACED = ("kubernetes_version", "package_repository", "image_repository")
_KEPT = {"name": "tacker-mgmt-drivers", "namespace": "kube-system"}


def of_request(
    cluster: Mapping[str, Any], params: Mapping[str, Any], package: Path, nodes: Collection[str]
) -> Meaning:
    """
    :param cluster: the parameters of the cluster as it was before
    :param package: the folder of the VNF package, as it was when the request was read
    :param nodes: the addresses of the cluster's nodes
    """
    if params.get("renew_certificates"):
        return meaning_kubernetes.of_request(cluster, package, nodes)
    changed = {key: params[key] for key in _REPLACED if params.get(key) is not None}
    after = {**cluster, **changed}
    meaning = meaning_kubernetes.of_request(after, package, nodes)
    if newest(str(params["kubernetes_version"])) == f"v{BEFORE}":
        _let_workers_keep(meaning, meaning_kubernetes.of_request(cluster, package, nodes))
    # Of a series all nodes get the release that the first one has got.
    release = newest(str(params["kubernetes_version"])).removeprefix("v")
    meaning.words |= {_patch(after), f"KUBERNETES_VERSION={release}"}
    check_objects = meaning.inputs["kubectl"]
    wanted = {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": _KEPT,
        "data": {"changed_params": changed},
    }  # fmt: skip

    def check(text: str) -> None:
        found = syntaxes.objects(text)
        if [document.get("metadata") for document in found] != [_KEPT]:
            check_objects(text)
            return
        found[0]["data"] = {k: syntaxes.json_document(v) for k, v in found[0]["data"].items()}
        if found != [wanted]:
            raise Finding(f"the cluster keeps {found}, where the parameters say {wanted}")

    meaning.inputs["kubectl"] = check
    return meaning


def _let_workers_keep(meaning: Meaning, before: Meaning) -> None:
    """Workers that have the release already may have the repository's key of before, or none."""
    place = ("worker", f"{STATE}/kubernetes.asc")
    if place in meaning.files:
        meaning.optional.add(place)
        if place in before.files:
            meaning.files[place] = either(before.files[place], meaning.files[place])


def _patch(after: Mapping[str, Any]) -> str:
    """What kubeadm's ConfigMap of the simulated cluster becomes."""
    images = after.get("image_repository", "").rpartition("://")[2].rstrip("/")
    config = {"imageRepository": images, "kubernetesVersion": f"v{BEFORE}"}
    return json.dumps({"data": {"ClusterConfiguration": yaml.safe_dump(config, sort_keys=False)}})
