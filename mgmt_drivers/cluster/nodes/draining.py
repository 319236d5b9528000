"""Drain nodes: each as long as it lives, and as long as its pods may take."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.errors import CommandFailed, DrainFailed, MgmtDriverError
from mgmt_drivers.machine.host import Host

LOG = logging.getLogger(__name__)

Nodes = Mapping[str, Mapping[str, Any]]  # Node objects by name

# Seconds for a pod to be evicted, besides its own time to end.
_MARGIN = 300.0
# A node that dies meanwhile is noticed between the slices.
_SLICE = 20
_TOLD = 5  # pods that an error tells


class PodsEnding(DrainFailed):
    """Pods of a node that were evicted have not ended in time.

    The node has to stay cordoned, so that the next attempt goes on where this one has stopped.
    """

    def __init__(self, node: str, text: str) -> None:
        self.node = node
        super().__init__(text)


class _Pod(NamedTuple):
    namespace: str
    name: str
    owner: str
    labels: Mapping[str, str]
    grace: int  # seconds
    is_ending: bool

    def __str__(self) -> str:
        state = "evicted, has not ended" if self.is_ending else "not evicted"
        return f"{self.namespace}/{self.name} of {self.owner} ({state})"


def drain(host: Host, nodes: Nodes, what_for: str, longest: float) -> None:
    """Cordon nodes, and drain them; when one cannot be drained, all are uncordoned.

    Nodes that others have cordoned stay cordoned, and so do a node on which an upgrade has failed,
    and one on which evicted pods still end.

    :param what_for: ``LEAVING`` or ``UPGRADE``
    """
    own = [name for name, node in nodes.items() if _is_open(node)]
    try:
        # All before any is drained: no pod is to be moved twice.
        for name in own:
            kubectl.cordon(host, name, what_for)
        for name in nodes:
            _drain(host, name, longest)
    except MgmtDriverError as error:
        closed = error.node if isinstance(error, PodsEnding) else None
        for name in own:
            if name != closed:
                _uncordon(host, name)
        raise


def _is_open(node: Mapping[str, Any]) -> bool:
    """Whether a node is open, or an earlier attempt has cordoned it: it is ours to uncordon."""
    return not node["spec"].get("unschedulable") or kubectl.why_cordoned(node) == kubectl.LEAVING


def _drain(host: Host, name: str, longest: float) -> None:
    """Evict the pods of a node; PodDisruptionBudgets are respected.

    The limit is the longest time that a pod may take to end, and a margin, counted anew whenever a
    pod has gone.

    :raises PodsEnding: when evicted pods have not ended
    :raises MgmtDriverError: with what cannot be evicted, when the node lives all the same
    """
    clock, reason = host.clock, ""
    start = since = clock.monotonic()
    left: list[_Pod] = []
    for _ in clock.attempts(longest):
        try:
            kubectl.drain(host, name, _SLICE)
            return
        except CommandFailed as error:
            reason = error.tail
            if not kubectl.is_ready(kubectl.list_nodes(host).get(name)):
                LOG.warning("node %s died while it was drained; going on without", name)
                return
        before, left = left, list(_evictable(kubectl.list_pods(host, name)))
        if len(left) < len(before):
            since = clock.monotonic()
        if clock.monotonic() - since > max((pod.grace for pod in left), default=0) + _MARGIN:
            break
    text = (
        f"node {name} is not drained after {clock.monotonic() - start:.0f} s (drain_timeout: "
        f"{longest:g} s); {_describe(host, left)}; last seen: {reason}. "
    )
    if any(pod.is_ending for pod in left):
        raise PodsEnding(
            name, f"{text}The node stays cordoned: retry the operation when its pods have ended"
        )
    advice = "See why its pods do not end"
    if "disruption budget" in reason:
        advice = "Make room for its pods, or relax the PodDisruptionBudget that holds them"
    raise DrainFailed(f"{text}{advice}, and retry the operation")


def _uncordon(host: Host, name: str) -> None:
    """Undo a cordon after a failure, which must not be hidden."""
    try:
        kubectl.uncordon(host, name)
    except MgmtDriverError as error:
        LOG.warning("node %s stays cordoned: %s", name, error)


def _evictable(pods: Sequence[Mapping[str, Any]]) -> Iterator[_Pod]:
    """The pods that a drain evicts: neither those of DaemonSets nor static or finished ones."""
    for pod in pods:
        about = pod["metadata"]
        owners = [owner for owner in about.get("ownerReferences", ()) if owner.get("controller")]
        kind, name = (owners[0]["kind"], owners[0]["name"]) if owners else ("no", "controller")
        is_finished = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
        if kind not in ("DaemonSet", "Node") and not is_finished:
            yield _Pod(
                about["namespace"], about["name"], f"{kind} {name}", about.get("labels", {}),
                pod["spec"].get("terminationGracePeriodSeconds", 0), "deletionTimestamp" in about,
            )


def _describe(host: Host, pods: Sequence[_Pod]) -> str:
    """Describe the pods that are left, and the PodDisruptionBudgets that hold them."""
    told = ", ".join(map(str, pods[:_TOLD])) or "no pod that a drain evicts"
    more = f" and {len(pods) - _TOLD} more" if len(pods) > _TOLD else ""
    budgets = ", ".join(_list_budgets(host, [pod for pod in pods if not pod.is_ending]))
    return f"left: {told}{more}" + (budgets and f"; no eviction is allowed by {budgets}")


def _list_budgets(host: Host, pods: Sequence[_Pod]) -> list[str]:
    """List the PodDisruptionBudgets that allow no eviction of one of the pods."""
    if not pods:
        return []
    try:
        found = kubectl.list_objects(host, "poddisruptionbudgets", "--all-namespaces")
    except MgmtDriverError as error:
        LOG.warning("the PodDisruptionBudgets are not known: %s", error)
        return []
    return [
        f"PodDisruptionBudget {budget['metadata']['namespace']}/{budget['metadata']['name']}"
        for budget in found
        if not budget.get("status", {}).get("disruptionsAllowed")
        and any(_holds(budget, pod) for pod in pods)
    ]


def _holds(budget: Mapping[str, Any], pod: _Pod) -> bool:
    """Whether a budget is about a pod (Kubernetes' documentation, "Labels and Selectors")."""
    selector = budget["spec"].get("selector", {})
    wanted = selector.get("matchLabels", {}).items()
    rules = selector.get("matchExpressions", ())
    is_own = budget["metadata"]["namespace"] == pod.namespace
    return is_own and wanted <= pod.labels.items() and all(_fits(rule, pod) for rule in rules)


def _fits(rule: Mapping[str, Any], pod: _Pod) -> bool:
    """Whether a pod fits a rule. Rules about the existence of a label have no values."""
    label, values = pod.labels.get(rule["key"]), rule.get("values")
    is_found = label is not None and (not values or label in values)
    return is_found is (rule["operator"] in ("In", "Exists"))
