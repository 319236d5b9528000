"""Remove control-plane nodes from etcd, unless it needs them."""

import logging
from collections.abc import Sequence
from typing import Any

from mgmt_drivers.engine.phase import Change, Check
from mgmt_drivers.errors import CommandFailed, MgmtDriverError, WaitTimeout
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import etcd, kubectl
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.etcd import Member
from mgmt_drivers.phases.selection import ForLeavingControlPlane

LOG = logging.getLogger(__name__)

_REFUSED = "the control-plane node cannot be healed now, nothing was changed"
_COMPONENTS = {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}


class CheckQuorum(ForLeavingControlPlane, Check[Cluster]):
    """Preflight: refuse to take control-plane nodes away that the cluster needs.

    The arithmetic is that of :func:`mgmt_drivers.kube.etcd.refusal`.
    """

    title = "check the etcd quorum"

    def check(self, host: Host, cluster: Cluster) -> None:
        try:
            found = etcd.census(host, cluster)
        except etcd.EtcdUnreadable as error:
            # From etcd 3.5 on the list itself wants a quorum (its changelog, "linearizable").
            raise _refused(
                f"{error}. Without a quorum etcd may not list its members: bring the other "
                "control-plane nodes back first"
            ) from error
        reason = etcd.refusal(found, etcd.leaving(cluster, found.members))
        if reason:
            raise _refused(reason)
        names = [cluster.topology.name(node) for node in cluster.control_plane]
        try:
            is_any_whole = any(_is_whole(host, name) for name in names)
        except (CommandFailed, WaitTimeout) as error:
            raise _refused(f"the API does not answer: {error}") from error
        if not is_any_whole:
            raise MgmtDriverError(
                f"{_REFUSED}: on none of the control-plane nodes that stay ({', '.join(names)}) "
                f"all of {', '.join(sorted(_COMPONENTS))} are ready"
            )


def _refused(reason: str) -> MgmtDriverError:
    return MgmtDriverError(
        f"{_REFUSED}: {reason}. To have a new cluster instead, heal the whole VNF (a request "
        "without vnfcInstanceId)"
    )


def _is_whole(host: Host, name: str) -> bool:
    """Whether all components of a control-plane node are ready, as kubelet finds them."""
    pods: list[dict[str, Any]] = kubectl.get(
        host, "pods", "--namespace", "kube-system", "--selector", "tier=control-plane",
        "--field-selector", f"spec.nodeName={name}",
    )["items"]
    ready = {p["metadata"]["labels"].get("component") for p in pods if kubectl.is_ready(p)}
    return ready >= _COMPONENTS



class RemoveEtcdMembers(ForLeavingControlPlane, Change[Cluster, Sequence[Member]]):
    """Remove the members that leave one after another, as long as a quorum stands.

    The leadership moves and a snapshot is saved on the leader before.
    """

    title = "remove etcd members"

    def look(self, host: Host, cluster: Cluster) -> Sequence[Member] | None:
        """The members that leave and are still there."""
        return etcd.leaving(cluster, etcd.members(host, cluster)) or None

    def tell(self, leaving: Sequence[Member]) -> str:
        return ", ".join(map(str, leaving))

    def act(self, host: Host, cluster: Cluster, leaving: Sequence[Member]) -> None:
        found = etcd.census(host, cluster)
        etcd.move_leader(host, cluster, found, leaving)
        path = etcd.snapshot(host, cluster)
        LOG.info("etcd's snapshot lies on %s: %s", host.node, path)
        for member in etcd.in_order(found, leaving):
            reason = etcd.refusal(etcd.census(host, cluster), [member])
            if reason:
                raise MgmtDriverError(reason)
            etcd.remove(host, cluster, member)
