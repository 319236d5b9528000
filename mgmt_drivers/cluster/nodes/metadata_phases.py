"""Labels and taints: by where a node runs, and of a node that is replaced."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.cluster_params import KubernetesParams
from mgmt_drivers.cluster.nodes import kubectl, lost_nodes, node_metadata
from mgmt_drivers.cluster.nodes.lost_nodes import Lost
from mgmt_drivers.cluster.nodes.node_metadata import NodeMetadata
from mgmt_drivers.cluster.topology import group_of
from mgmt_drivers.engine.phase import DEPENDS, Change, Prediction
from mgmt_drivers.engine.trace import CHANGED
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


class SaveNodeMetadata(Change[Cluster, Lost]):
    """Save labels and taints of the nodes that leave, for their successors."""

    title = "save labels and taints"

    def look(self, host: Host, cluster: Cluster) -> Lost | None:
        leaving = {cluster.topology.name(machine): machine for machine in cluster.leaving}
        nodes, saved = lost_nodes.read(host, leaving)
        wanted = dict(saved)
        for name, node in nodes.items():
            # One that is gone already was saved by the attempt that removed it.
            vnfc, address = leaving[name].vnfc_id, cluster.topology.address_of(leaving[name])
            found = node_metadata.of(node, address)
            wanted[vnfc] = saved.get(vnfc, found).merged_into(found)
        return wanted if wanted != saved else None

    def describe(self, change: Lost) -> str:
        return ", ".join(metadata.node for metadata in change.values())

    def act(self, host: Host, cluster: Cluster, change: Lost) -> None:
        lost_nodes.save(host, change)


class _Succession(NamedTuple):
    """The metadata that nodes lack, by name, the nodes that they replace, and what is kept on."""

    lacking: Mapping[str, NodeMetadata]
    replaced: Sequence[str]
    rest: Lost


class RestoreNodeMetadata(Change[Cluster, _Succession]):
    """Give the successors the labels and taints that they lack, and forget the nodes of before.

    Labels that a new node has itself, such as the name of its host, stay. A node that was removed
    comes back if its kubelet starts again before its machine is deleted.
    """

    title = "restore labels and taints"
    prediction = Prediction(DEPENDS, "on the labels and taints that the new nodes have")

    def __init__(self, successors: Sequence[Host]) -> None:
        self._successors = successors

    def look(self, host: Host, cluster: Cluster) -> _Succession | None:
        names = {new.node.vnfc_id: cluster.name(new) for new in self._successors}
        nodes, saved = lost_nodes.read(host, names.values())
        lost = {names[vnfc]: found for vnfc, found in saved.items() if vnfc in names}
        if not lost:
            return None
        lacking = {name: found.lacking_on(nodes[name]) for name, found in lost.items()}
        own = set(map(cluster.topology.name, cluster.topology.nodes))  # Heat may keep a machine
        replaced = [found.node for found in lost.values() if found.node not in own]
        rest = {vnfc: found for vnfc, found in saved.items() if vnfc not in names}
        return _Succession(lacking, replaced, rest)

    def act(self, host: Host, cluster: Cluster, change: _Succession) -> None:
        for name, found in change.lacking.items():
            if found.labels:
                kubectl.label(host, name, found.labels)
            for taint in found.taints:
                kubectl.taint(host, name, taint)
        lost_nodes.forget(host, change.rest, change.replaced)


class ForgetNodeMetadata(Change[Cluster, Lost]):
    """Forget what a heal that was given up has saved of the machines that leave.

    Through the v2 API another machine gets the VNFC's id later, which is no successor.
    """

    title = "forget labels and taints"

    def look(self, host: Host, cluster: Cluster) -> Lost | None:
        gone = {machine.vnfc_id for machine in cluster.leaving}
        saved = lost_nodes.load(host)
        rest = {vnfc: found for vnfc, found in saved.items() if vnfc not in gone}
        return rest if rest != saved else None

    def act(self, host: Host, cluster: Cluster, rest: Lost) -> None:
        lost_nodes.forget(host, rest)


class KeepNodeMetadata(Change[Cluster, Lost]):
    """Keep labels and taints of the old nodes, for the machines that came in their place."""

    title = "keep labels and taints of the old nodes"

    def look(self, host: Host, cluster: Cluster) -> Lost | None:
        own = set(map(cluster.topology.name, cluster.topology.nodes))
        old = node_metadata.replaced(cluster.store)
        nodes, saved = lost_nodes.read(host, [name for name in old if name not in own])
        wanted = {**saved, **{old[name]: node_metadata.of(node) for name, node in nodes.items()}}
        return wanted if wanted != saved else None

    def act(self, host: Host, cluster: Cluster, change: Lost) -> None:
        lost_nodes.save(host, change)
