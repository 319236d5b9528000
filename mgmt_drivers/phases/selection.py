"""Whom phases concern: any new machine, or hosts of a cluster."""

from collections.abc import Sequence
from typing import Protocol

from mgmt_drivers.engine.phase import Lanes, at_once
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.params.proxy import Proxy


class NewMachines(Protocol):
    """What these phases need to know of an operation."""

    @property
    def new_hosts(self) -> Sequence[Host]: ...

    @property
    def proxy(self) -> Proxy | None: ...


class OnNewMachines:
    """On every machine that has come, whatever it is to be."""

    def select(self, context: NewMachines) -> Lanes:
        return at_once(context.new_hosts)


class OnLeader:
    """On the control-plane node from which the operation works, for the whole cluster."""

    def select(self, cluster: Cluster) -> Lanes:
        return [[cluster.leader]]


class ForJoiningNodes(OnLeader):
    """On the leader, when nodes join."""

    def select(self, cluster: Cluster) -> Lanes:
        return super().select(cluster) if cluster.joining else []


class ForLeavingNodes(OnLeader):
    """On the leader, when nodes leave."""

    def select(self, cluster: Cluster) -> Lanes:
        return super().select(cluster) if cluster.leaving else []


class ForLeavingControlPlane(OnLeader):
    """On the leader, when control-plane nodes leave."""

    def select(self, cluster: Cluster) -> Lanes:
        return super().select(cluster) if cluster.leaving_control_plane else []


class ForStorage(OnLeader):
    """On the leader, when the storage server comes or goes."""

    def select(self, cluster: Cluster) -> Lanes:
        return super().select(cluster) if cluster.storage else []


class OnPreparedNodes:
    """On the machines that are to become nodes, or are upgraded, all at once."""

    def select(self, cluster: Cluster) -> Lanes:
        return at_once(cluster.prepared)


class OnControlPlane:
    """On the control-plane nodes that stay or have come, as far as they were reached."""

    def select(self, cluster: Cluster) -> Lanes:
        return at_once([host for host in cluster.hosts if host.node in cluster.control_plane])


class OnLeavingControlPlane:
    """On the control-plane nodes that leave, as far as they were reached."""

    def select(self, cluster: Cluster) -> Lanes:
        return at_once([h for h in cluster.hosts if h.node in cluster.leaving_control_plane])


class OnStorageServer:
    """On the storage server, when it comes."""

    def select(self, cluster: Cluster) -> Lanes:
        return at_once(cluster.storage_hosts)
