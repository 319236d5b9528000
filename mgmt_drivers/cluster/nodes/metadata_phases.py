"""Labels and taints: by where a node runs, and of a node that is replaced."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.cluster_params import KubernetesParams
from mgmt_drivers.cluster.nodes import kubectl, node_metadata
from mgmt_drivers.cluster.nodes.node_metadata import NodeMetadata
from mgmt_drivers.cluster.topology import group_of
from mgmt_drivers.engine.phase import DEPENDS, Change, Prediction
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED
from mgmt_drivers.errors import InventoryError
from mgmt_drivers.machine.host import Host


class LabelNodes(Change[Cluster, Mapping[str, Mapping[str, str]]]):
    """Label new workers by compute host and zone, in flavours that spread them."""

    title = "label nodes by compute host and zone"
    prediction = Prediction(CHANGED, "the new workers")

    def __init__(self, workers: Sequence[Host]) -> None:
        self._workers = workers

    def look(self, host: Host, cluster: Cluster) -> Mapping[str, Mapping[str, str]] | None:
        """The labels that nodes lack, by node name."""
        placements = {worker: worker.node.placement for worker in self._workers}
        unknown = [str(w.node) for w, found in placements.items() if not found or not found.host]
        if unknown:
            raise InventoryError(
                f"Heat does not show on which compute host these run: {', '.join(unknown)}. The "
                "VIM's user needs Nova's policy os_compute_api:os-extended-server-attributes"
            )
        nodes = kubectl.list_nodes(host)
        wanted = {
            cluster.name(worker): node_metadata.placement_labels(placement)
            for worker, placement in placements.items()
            if placement
        }
        lacking = {
            name: labels
            for name, labels in wanted.items()
            if not labels.items() <= nodes[name]["metadata"]["labels"].items()
        }
        return lacking or None

    def act(self, host: Host, cluster: Cluster, lacking: Mapping[str, Mapping[str, str]]) -> None:
        for name, labels in lacking.items():
            kubectl.label(host, name, labels)


class MarkNodes(Change[Cluster, Mapping[str, Mapping[str, Any]]]):
    """Make labels and taints of workers what the parameters say.

    Labels and taints that neither the parameters nor the earlier ones have stay.
    """

    title = "change labels and taints"

    def __init__(self, before: KubernetesParams) -> None:
        self._before = before

    def look(self, host: Host, cluster: Cluster) -> Mapping[str, Mapping[str, Any]] | None:
        """The merge patches of the nodes that have others, by node name."""
        nodes, patches = kubectl.list_nodes(host), {}
        for machine in cluster.topology.workers:
            name = cluster.topology.name(machine)
            group, before = (group_of(machine, p) for p in (cluster.params, self._before))
            if name in nodes and (patch := node_metadata.marking(nodes[name], group, before)):
                patches[name] = patch
        return patches or None

    def describe(self, patches: Mapping[str, Mapping[str, Any]]) -> str:
        return ", ".join(patches)

    def act(self, host: Host, cluster: Cluster, patches: Mapping[str, Mapping[str, Any]]) -> None:
        for name, patch in patches.items():
            kubectl.patch(host, "node", name, patch=patch)


class SaveNodeMetadata(Change[Cluster, Mapping[str, NodeMetadata]]):
    """Save labels and taints of the nodes that leave, for their successors."""

    title = "save labels and taints"

    def look(self, host: Host, cluster: Cluster) -> Mapping[str, NodeMetadata] | None:
        nodes = kubectl.list_nodes(host)
        saved = node_metadata.load(cluster.store)
        wanted = dict(saved)
        for machine in cluster.leaving:
            # One that is gone already was saved by the attempt that removed it.
            node = nodes.get(cluster.topology.name(machine))
            if node:
                found = node_metadata.of(node, cluster.topology.address_of(machine))
                wanted[machine.vnfc_id] = saved.get(machine.vnfc_id, found).merged_into(found)
        return wanted if wanted != saved else None

    def describe(self, change: Mapping[str, NodeMetadata]) -> str:
        return ", ".join(metadata.node for metadata in change.values())

    def predict(self, host: Host, cluster: Cluster) -> Prediction:
        """Save in the dry run's store, too, where the rest of the operation looks."""
        found = self.look(host, cluster)
        if found is None:
            return Prediction(UNCHANGED)
        node_metadata.save(cluster.store, found)
        return Prediction(CHANGED, self.describe(found))

    def act(self, host: Host, cluster: Cluster, change: Mapping[str, NodeMetadata]) -> None:
        node_metadata.save(cluster.store, change)


class _Succession(NamedTuple):
    """The metadata that successors lack, by node name, and the nodes that they have replaced."""

    lacking: Mapping[str, NodeMetadata]
    replaced: Sequence[str]


class RestoreNodeMetadata(Change[Cluster, _Succession]):
    """Give the successors the labels and taints that they lack, and remove the nodes of before.

    Labels that a new node has itself, such as the name of its host, stay. A node that was removed
    comes back if its kubelet starts again before its machine is deleted.
    """

    title = "restore labels and taints"
    prediction = Prediction(DEPENDS, "on the labels and taints that the new nodes have")

    def __init__(self, successors: Sequence[Host]) -> None:
        self._successors = successors

    def look(self, host: Host, cluster: Cluster) -> _Succession | None:
        nodes = kubectl.list_nodes(host)
        saved = node_metadata.load(cluster.store)
        lost = {
            cluster.name(new): saved[new.node.vnfc_id]
            for new in self._successors
            if new.node.vnfc_id in saved
        }
        lacking = {name: found.lacking_on(nodes[name]) for name, found in lost.items()}
        lacking = {name: found for name, found in lacking.items() if found.labels or found.taints}
        own = set(map(cluster.topology.name, cluster.topology.nodes))  # Heat may keep a machine
        replaced = [found.node for found in lost.values() if found.node in nodes.keys() - own]
        return _Succession(lacking, replaced) if lacking or replaced else None

    def act(self, host: Host, cluster: Cluster, change: _Succession) -> None:
        for name, found in change.lacking.items():
            if found.labels:
                kubectl.label(host, name, found.labels)
            for taint in found.taints:
                kubectl.taint(host, name, taint)
        if change.replaced:
            kubectl.delete(host, "node", *change.replaced)


class KeepNodeMetadata(Change[Cluster, Mapping[str, NodeMetadata]]):
    """Keep labels and taints of the old nodes, for the machines that came in their place."""

    title = "keep labels and taints of the old nodes"

    def look(self, host: Host, cluster: Cluster) -> Mapping[str, NodeMetadata] | None:
        nodes = kubectl.list_nodes(host)
        saved = node_metadata.load(cluster.store)
        own = set(map(cluster.topology.name, cluster.topology.nodes))
        old = node_metadata.replaced(cluster.store).items()
        found = {v: node_metadata.of(nodes[n]) for n, v in old if n in nodes.keys() - own}
        wanted = {**saved, **found}
        return wanted if wanted != saved else None

    def act(self, host: Host, cluster: Cluster, change: Mapping[str, NodeMetadata]) -> None:
        node_metadata.save(cluster.store, change)
