"""Make the account with which Tacker uses the cluster."""

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import vim_account
from mgmt_drivers.kube.cluster import Cluster, VimAccount
from mgmt_drivers.phases.phase import Phase


class GrantVimAccess(Phase[Cluster]):
    """Leaves the account in the context, for registering the VIM."""

    title = "grant Tacker access"

    def needed(self, host: Host, context: Cluster) -> bool:
        return host is context.lead

    def apply(self, host: Host, context: Cluster) -> None:
        token, ca = vim_account.ensure(host)
        url = f"https://{context.topology.public}:{context.topology.port}"
        context.account = VimAccount(url, token, ca)
