"""Drain a node: as long as it lives, and no longer than its pods may take."""

import logging

from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.errors import CommandFailed, MgmtDriverError
from mgmt_drivers.machine.host import Host

LOG = logging.getLogger(__name__)

_LIMIT = 300.0  # seconds for one node
# A node that dies meanwhile is noticed between the slices.
_SLICE = 20


def drain(host: Host, name: str) -> None:
    """Evict the pods of a node; PodDisruptionBudgets are respected.

    :raises MgmtDriverError: with what cannot be evicted, when it lives all the same
    """
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


def uncordon(host: Host, name: str) -> None:
    """Undo a cordon after a failure, which must not be hidden."""
    try:
        kubectl.uncordon(host, name)
    except MgmtDriverError as error:
        LOG.warning("node %s stays cordoned: %s", name, error)
