"""Labels and taints of a node, which its successor gets when it is healed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mgmt_drivers.cluster.cluster_params import NodeGroup
from mgmt_drivers.cluster.nodes.node_params import OWN_TAINTS, PLACEMENT
from mgmt_drivers.engine.services import Store
from mgmt_drivers.inventory import Placement
from mgmt_drivers.machine import answers

# The last is Kubernetes' well-known one ("Well-Known Labels, Annotations and Taints").
_HOST, *_ZONES = PLACEMENT
_REPLACED = "replaced_nodes"


@dataclass(frozen=True)
class NodeMetadata:
    """Labels and taints, but for those that tell where the machine runs and how it is.

    Taints are as the API shows them: ``key``, ``effect``, perhaps ``value``. ``node`` is the
    name of the node that had them, and ``address`` its address.
    """

    node: str
    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, str]]
    address: str = ""

    def merged_into(self, successor: "NodeMetadata") -> "NodeMetadata":
        """Merge with the metadata of a successor that was lost before it was restored.

        For the same node the newer reading counts: somebody may have removed labels since.
        """
        if self.node == successor.node:
            return successor
        has = {(taint["key"], taint["effect"]) for taint in successor.taints}
        more = [taint for taint in self.taints if (taint["key"], taint["effect"]) not in has]
        labels = {**self.labels, **successor.labels}
        return replace(successor, labels=labels, taints=[*successor.taints, *more])

    def lacking_on(self, node: Mapping[str, Any]) -> "NodeMetadata":
        """The part of it that a Node object lacks; a label that the object has keeps its value."""
        labels = node["metadata"].get("labels", {})
        taints = {(t["key"], t["effect"]) for t in node["spec"].get("taints", ())}
        return NodeMetadata(
            node["metadata"]["name"],
            {key: value for key, value in self.labels.items() if key not in labels},
            [t for t in self.taints if (t["key"], t["effect"]) not in taints],
        )


def placement_labels(placement: Placement) -> dict[str, str]:
    """Labels that tell on which hardware a node runs, for pods to be spread by."""
    zones = dict.fromkeys(_ZONES, placement.zone) if placement.zone else {}
    return {_HOST: placement.host, **zones}


def marking(node: Mapping[str, Any], group: NodeGroup, before: NodeGroup) -> dict[str, Any]:
    """The merge patch for a Node object: its group's labels and taints in place of earlier ones.

    Empty if the object has them.
    """
    has, wanted = node["metadata"].get("labels", {}), dict(group.labels)
    labels: dict[str, str | None] = {k: v for k, v in wanted.items() if has.get(k) != v}
    labels |= {key: None for key, _ in before.labels if key not in wanted and key in has}
    patch: dict[str, Any] = {"metadata": {"labels": labels}} if labels else {}
    ours = {(taint.key, taint.effect) for taint in (*group.taints, *before.taints)}
    shown = node["spec"].get("taints", [])
    own = [taint for taint in shown if (taint["key"], taint["effect"]) in ours]
    if {(taint["key"], taint.get("value", ""), taint["effect"]) for taint in own} != {
        (taint.key, taint.value, taint.effect) for taint in group.taints
    }:
        others = [taint for taint in shown if taint not in own]
        patch["spec"] = {"taints": [*others, *(taint.shown() for taint in group.taints)]}
    return patch


def of(node: Mapping[str, Any], address: str = "") -> NodeMetadata:
    """The metadata of a Node object.

    :raises MgmtDriverError: when it has what no cluster would accept
    """
    labels = node["metadata"].get("labels", {})
    return NodeMetadata(
        node=answers.checked(node["metadata"]["name"], answers.NODE, "a node's name"),
        labels={_key(k): _value(v) for k, v in labels.items() if k not in (_HOST, *_ZONES)},
        taints=[
            _taint(taint)
            for taint in node["spec"].get("taints", ())
            if not taint["key"].startswith(OWN_TAINTS)
        ],
        address=address,
    )


def _taint(taint: Mapping[str, Any]) -> Mapping[str, str]:
    found = {"key": _key(taint["key"])}
    if "value" in taint:
        found["value"] = _value(taint["value"])
    effect = answers.checked(taint["effect"], answers.TAINT_EFFECT, "the effect of a taint")
    return {**found, "effect": effect}


def _key(text: object) -> str:
    return answers.checked(text, answers.LABEL_KEY, "the key of a label or taint")


def _value(text: object) -> str:
    return answers.checked(text, answers.LABEL_VALUE, "the value of a label or taint")


def save_replaced(store: Store, nodes: Mapping[str, str]) -> None:
    """Save the VNFCs of the nodes, by name, before the whole VNF is replaced and restored.

    Entries of a failed earlier attempt are kept: the backup still contains those nodes.
    """
    store.save(_REPLACED, {**replaced(store), **nodes})


def forget_replaced(store: Store) -> None:
    store.save(_REPLACED, {})


def replaced(store: Store) -> Mapping[str, str]:
    """Load the VNFCs that :func:`save_replaced` has saved, by the names of their nodes."""
    return store.load(_REPLACED, {})
