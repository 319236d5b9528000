"""The account of the cluster for Tacker."""

from mgmt_drivers.engine.phase import Forecast, HostPhase
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED, Outcome
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import service_account
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.service_account import VIM_ACCOUNT
from mgmt_drivers.phases.selection import OnLeader


class GrantVimAccess(OnLeader, HostPhase[Cluster]):
    """Create the account with which Tacker uses the cluster as a VIM."""

    title = "grant Tacker access"

    def foresee(self, host: Host, cluster: Cluster) -> Forecast:
        return Forecast(CHANGED, f"service account {VIM_ACCOUNT.name}")

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        return CHANGED if service_account.apply(host, VIM_ACCOUNT) else UNCHANGED
