"""Metadata of nodes that were lost, kept in the cluster until their successors have it.

The cluster keeps it however the operation ends: Tacker's v2 API forgets what the drivers give it if
the operation is ended by ``fail``, or if the conductor dies.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mgmt_drivers.cluster.nodes import kubectl, node_metadata
from mgmt_drivers.cluster.nodes.node_metadata import NodeMetadata
from mgmt_drivers.errors import ClusterError
from mgmt_drivers.machine.host import Host

_NAME, _NAMESPACE, _KEY = "tacker-mgmt-drivers-lost-nodes", "kube-system", "nodes"

Lost = Mapping[str, NodeMetadata]  # by VNFC


def load(host: Host) -> Lost:
    return read(host, ())[1]


def read(host: Host, names: Collection[str]) -> tuple[Mapping[str, Mapping[str, Any]], Lost]:
    """Read the Node objects of these names, as far as there are any, and what is kept.

    One command reads both.

    :raises MgmtDriverError: if somebody has put in what the drivers do not keep
    """
    words = (f"configmap/{_NAME}", *(f"node/{name}" for name in names))
    shown = kubectl.list_objects(host, *words, "--namespace", _NAMESPACE, "--ignore-not-found")
    found = {each["metadata"]["name"]: each for each in shown}
    kept = found.pop(_NAME, {}).get("data") or {}
    return found, _parse(kept.get(_KEY, "{}"))


def _parse(text: str) -> Lost:
    try:
        return {vnfc: _checked(**lost) for vnfc, lost in json.loads(text).items()}
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise ClusterError(
            f"ConfigMap {_NAME} in {_NAMESPACE} is damaged. Delete it, then retry: labels and "
            "taints that it keeps are lost"
        ) from error


def _checked(
    node: str, labels: Mapping[str, str], taints: Sequence[Mapping[str, str]], address: str
) -> NodeMetadata:
    shown = {"metadata": {"name": node, "labels": labels}, "spec": {"taints": taints}}
    return node_metadata.of(shown, address)


def save(host: Host, lost: Lost) -> None:
    metadata = {"name": _NAME, "namespace": _NAMESPACE}
    text = json.dumps({vnfc: asdict(found) for vnfc, found in lost.items()})
    kept = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {_KEY: text}}
    kubectl.merge(host, json.dumps(kept), takes_over=True)


def forget(host: Host, rest: Lost, nodes: Collection[str] = ()) -> None:
    """Keep the rest only, and delete Node objects, in one command if there is no rest."""
    gone = [f"node/{name}" for name in nodes] + ([] if rest else [f"configmap/{_NAME}"])
    if gone:
        kubectl.delete(host, *gone, namespace=_NAMESPACE)
    if rest:
        save(host, rest)
