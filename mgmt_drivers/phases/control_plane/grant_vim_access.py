"""Create the account with which Tacker uses the cluster."""

from mgmt_drivers.engine.phase import Change
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import service_account
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.service_account import VIM_ACCOUNT, ServiceAccount
from mgmt_drivers.phases.selection import OnLeader


class GrantVimAccess(OnLeader, Change[Cluster, ServiceAccount]):
    """Create the account with which Tacker uses the cluster as a VIM."""

    title = "grant Tacker access"

    def look(self, host: Host, cluster: Cluster) -> ServiceAccount | None:
        return None if service_account.find(host, VIM_ACCOUNT) else VIM_ACCOUNT

    def act(self, host: Host, cluster: Cluster, account: ServiceAccount) -> None:
        service_account.create(host, account)
