"""Move the pods away from nodes that are to leave."""

import logging
from typing import Any

from mgmt_drivers.errors import CommandFailed, MgmtDriverError, WaitTimeout
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase
from mgmt_drivers.ssh import wait

LOG = logging.getLogger(__name__)

_LIMIT = 300.0  # seconds for one node
# A node that dies meanwhile is noticed between the slices.
_SLICE = 20


class CannotEvacuate(MgmtDriverError):
    """Pods cannot leave a node that is alive."""


class EvacuateNodes(Phase[Cluster]):
    """Respects PodDisruptionBudgets. A node that is not ready has nobody to stop its pods.

    When a node cannot be evacuated, pods may come to them again, but for those that were
    closed before.
    """

    title = "evacuate the nodes"

    def needed(self, host: Host, context: Cluster) -> bool:
        return host is context.lead and bool(self._alive(host, context))

    def apply(self, host: Host, context: Cluster) -> None:
        alive = self._alive(host, context)
        # What an attempt before this one closed is ours to open, too.
        own = [name for name, node in alive.items() if not kubectl.is_closed_by_others(node)]
        # All before any is evacuated: no pod is to be moved twice.
        for name in own:
            kubectl.close(host, name)
        try:
            for name in alive:
                _evacuate(host, name)
        except MgmtDriverError:
            for name in own:
                _open_again(host, name)
            raise

    def _alive(self, host: Host, context: Cluster) -> dict[str, Any]:
        nodes = kubectl.nodes(host)
        leaving = [context.name(node) for node in context.leaving]
        return {name: nodes[name] for name in leaving if kubectl.is_ready(nodes.get(name))}


def _evacuate(host: Host, name: str) -> None:
    def attempt() -> None:
        try:
            kubectl.drain(host, name, _SLICE)
        except CommandFailed as error:
            if kubectl.is_ready(kubectl.nodes(host).get(name)):
                raise wait.NotYet(error.tail) from error
            LOG.warning("node %s died while it was evacuated; going on without", name)

    try:
        wait.until(attempt, _LIMIT, f"evacuation of node {name}")
    except WaitTimeout as error:
        advice = "See why its pods do not end"
        if "disruption budget" in str(error):
            advice = "Make room for its pods, or relax the PodDisruptionBudget that holds them"
        raise CannotEvacuate(f"{error}. {advice}, and retry the operation") from error


def _open_again(host: Host, name: str) -> None:
    try:
        kubectl.open_again(host, name)
    except MgmtDriverError as error:
        LOG.warning("node %s stays closed to new pods: %s", name, error)
