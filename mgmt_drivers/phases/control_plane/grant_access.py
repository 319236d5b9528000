"""Accounts of the cluster for programs outside of its pods."""

from mgmt_drivers.engine.phase import HostPhase, Lanes
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED, Outcome
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import pod_network, service_account
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.service_account import VIM_ACCOUNT
from mgmt_drivers.phases.selection import ForJoiningNodes, OnLeader


class GrantVimAccess(OnLeader, HostPhase[Cluster]):
    """Create the account with which Tacker uses the cluster as a VIM."""

    title = "grant Tacker access"

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        return CHANGED if service_account.apply(host, VIM_ACCOUNT) else UNCHANGED


class GrantNodesAccess(ForJoiningNodes, HostPhase[Cluster]):
    """Create the account by which the built-in pod network learns of other nodes."""

    title = "grant the pod network access"

    def select(self, cluster: Cluster) -> Lanes:
        return [] if cluster.params.cni_manifest else super().select(cluster)

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        return CHANGED if service_account.apply(host, pod_network.ACCOUNT) else UNCHANGED
