"""Refuse to take masters away that the cluster cannot do without."""

from collections.abc import Sequence
from typing import Any

from mgmt_drivers.errors import CommandFailed, MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.inventory import Node
from mgmt_drivers.kube import etcd, kubectl
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Check

_REFUSED = "the master cannot be healed now, nothing was changed"
_COMPONENTS = {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}


class Indispensable(MgmtDriverError):
    """The cluster would not outlive the loss."""


class CheckQuorum(Check[Cluster]):
    """Before anything else is done."""

    title = "check that the cluster can do without"

    def check(self, host: Host, context: Cluster) -> None:
        if host is not context.lead or not context.changes_masters:
            return
        try:
            found = etcd.census(host, context)
        except etcd.EtcdUnreadable as error:
            # From etcd 3.5 on the list itself wants a quorum (its changelog, "linearizable").
            raise _indispensable(
                f"{error}. Without a quorum etcd may not list its members: bring the other "
                "masters back first"
            ) from error
        reason = etcd.refusal(found, members_leaving(context, found.members))
        if reason:
            raise _indispensable(reason)
        names = [context.name(node) for node in context.masters]
        try:
            is_any_whole = any(_is_whole(host, name) for name in names)
        except CommandFailed as error:
            raise _indispensable(f"the API does not answer: {error.tail}") from error
        if not is_any_whole:
            raise Indispensable(
                f"{_REFUSED}: on none of the masters that stay ({', '.join(names)}) all of "
                f"{', '.join(sorted(_COMPONENTS))} are ready"
            )


def _indispensable(reason: str) -> Indispensable:
    return Indispensable(
        f"{_REFUSED}: {reason}. To have a new cluster instead, heal the whole VNF (a request "
        "without vnfcInstanceId)"
    )


def masters_leaving(cluster: Cluster) -> list[Node]:
    return [node for node in cluster.leaving if cluster.is_master(node)]


def members_leaving(cluster: Cluster, members: Sequence[etcd.Member]) -> list[etcd.Member]:
    """The members of etcd on masters that leave: of the master's name and address, both whole.

    One that never started has no name; its address alone tells.
    """
    wanted = {cluster.name(node): cluster.address(node) for node in masters_leaving(cluster)}
    return [
        member
        for member in members
        if any(
            member.is_at(address) and member.name in (name, "")
            for name, address in wanted.items()
        )
    ]


def _is_whole(host: Host, name: str) -> bool:
    """Whether a master's own parts are all ready, as kubelet finds them."""
    pods: list[dict[str, Any]] = kubectl.get(
        host, "pods", "--namespace", "kube-system", "--selector", "tier=control-plane",
        "--field-selector", f"spec.nodeName={name}",
    )["items"]
    ready = {p["metadata"]["labels"].get("component") for p in pods if kubectl.is_ready(p)}
    return ready >= _COMPONENTS
