"""Whom the phases of a cluster concern."""

from mgmt_drivers.engine.phase import Lanes, at_once
from mgmt_drivers.kube.cluster import Cluster


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


class OnJoiningNodes:
    """On the machines that are to become nodes, all at once."""

    def select(self, cluster: Cluster) -> Lanes:
        return at_once(cluster.joining)


class OnControlPlane:
    """On the control-plane nodes that stay or have come, as far as they were reached."""

    def select(self, cluster: Cluster) -> Lanes:
        return at_once([host for host in cluster.hosts if host.node in cluster.control_plane])


class OnStorageServer:
    """On the storage server, when it comes."""

    def select(self, cluster: Cluster) -> Lanes:
        return at_once(cluster.storage_hosts)
