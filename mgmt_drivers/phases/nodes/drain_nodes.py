"""Drain the nodes that are to leave, and uncordon those that are not any more."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from mgmt_drivers.engine.phase import Change
from mgmt_drivers.errors import CommandFailed, MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.selection import ForLeavingNodes

LOG = logging.getLogger(__name__)

_LIMIT = 300.0  # seconds for one node
# A node that dies meanwhile is noticed between the slices.
_SLICE = 20

Nodes = Mapping[str, Mapping[str, Any]]  # Node objects by name


class UncordonNodes(ForLeavingNodes, Change[Cluster, Sequence[str]]):
    """Uncordon nodes that an operation which was broken off has cordoned, and that stay.

    It cannot do so itself when its process dies, and its retry may be about other nodes. What
    others cordoned stays cordoned.
    """

    title = "uncordon nodes"

    def look(self, host: Host, cluster: Cluster) -> Sequence[str] | None:
        leaving = [cluster.topology.name(node) for node in cluster.leaving]
        nodes = kubectl.nodes(host)
        ours = [name for name, node in nodes.items() if kubectl.is_cordoned_by_us(node)]
        return [name for name in ours if name not in leaving] or None

    def act(self, host: Host, cluster: Cluster, names: Sequence[str]) -> None:
        for name in names:
            kubectl.uncordon(host, name)


class DrainNodes(ForLeavingNodes, Change[Cluster, Nodes]):
    """Cordon the ready nodes that leave, and drain them; PodDisruptionBudgets are respected.

    A node that is not ready has nobody to stop its pods. When one cannot be drained, all are
    uncordoned but those that others had cordoned.
    """

    title = "drain nodes"

    def look(self, host: Host, cluster: Cluster) -> Nodes | None:
        """The nodes that are ready."""
        nodes = kubectl.nodes(host)
        leaving = map(cluster.topology.name, cluster.leaving)
        ready = {name: nodes[name] for name in leaving if kubectl.is_ready(nodes.get(name))}
        return ready or None

    def act(self, host: Host, cluster: Cluster, ready: Nodes) -> None:
        # What an attempt before this one cordoned is ours to uncordon, too.
        own = [name for name, node in ready.items() if not kubectl.is_cordoned_by_others(node)]
        try:
            # All before any is drained: no pod is to be moved twice.
            for name in own:
                kubectl.cordon(host, name)
            for name in ready:
                _drain(host, name)
        except MgmtDriverError:
            for name in own:
                _uncordon(host, name)
            raise


def _drain(host: Host, name: str) -> None:
    reason = ""
    for _ in host.clock.attempts(_LIMIT):
        try:
            kubectl.drain(host, name, _SLICE)
            return
        except CommandFailed as error:
            reason = error.tail
            if not kubectl.is_ready(kubectl.nodes(host).get(name)):
                LOG.warning("node %s died while it was drained; going on without", name)
                return
    advice = "See why its pods do not end"
    if "disruption budget" in reason:
        advice = "Make room for its pods, or relax the PodDisruptionBudget that holds them"
    raise MgmtDriverError(
        f"node {name} is not drained within {_LIMIT:g} s; last seen: {reason}. {advice}, and "
        "retry the operation"
    )


def _uncordon(host: Host, name: str) -> None:
    try:
        kubectl.uncordon(host, name)
    except MgmtDriverError as error:
        LOG.warning("node %s stays cordoned: %s", name, error)
