"""Make the account with which Tacker uses the cluster."""

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import service_account
from mgmt_drivers.kube.cluster import Cluster, VimAccount
from mgmt_drivers.kube.service_account import ServiceAccount
from mgmt_drivers.phases.phase import Phase

_ACCOUNT = ServiceAccount("tacker-vim", role="cluster-admin")


class GrantVimAccess(Phase[Cluster]):
    """Leaves the account in the context, for registering the VIM."""

    title = "grant Tacker access"

    def needed(self, host: Host, context: Cluster) -> bool:
        return host is context.lead

    def apply(self, host: Host, context: Cluster) -> None:
        token, ca = service_account.ensure(host, _ACCOUNT)
        url = f"https://{context.topology.public}:{context.topology.port}"
        context.account = VimAccount(url, token, ca)
