"""Access to the cluster: an account for Tacker, and a kubeconfig for login users."""

import logging

from mgmt_drivers.cluster.access import service_account
from mgmt_drivers.cluster.access.service_account import VIM_ACCOUNT
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.engine.phase import DEPENDS, HostPhase, Prediction
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED, Outcome
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

LOG = logging.getLogger(__name__)

_GIVE = Script(__package__, "give-kubeconfig")
_COPIES = f"{STATE_FOLDER}/kubeconfigs"


class GrantVimAccess(HostPhase[Cluster]):
    """Create the account with which Tacker uses the cluster as a VIM, and give it its rights.

    :param is_restored: the account came with a backup, whose readers know its token: the account
        gets another token
    """

    title = "grant Tacker access"
    prediction = Prediction(DEPENDS, f"on the rights that {VIM_ACCOUNT} has")

    def __init__(self, is_restored: bool = False) -> None:
        self._is_restored = is_restored

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        secret = service_account.current_secret(cluster.store)
        if self._is_restored:
            service_account.revoke(host, secret)
        changed = service_account.apply(host, secret, cluster.params.vim_role)
        return CHANGED if changed else UNCHANGED


class AddVimToken(HostPhase[Cluster]):
    """Make another token for Tacker, beside the old one."""

    title, prediction = "make a token for Tacker", Prediction(CHANGED)

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        service_account.add_vim_token(host, cluster.store, cluster.params.vim_role)
        return CHANGED


class RevokeOldVimTokens(HostPhase[Cluster]):
    """Revoke the tokens that Tacker has had before the one it has now."""

    title, prediction = "revoke Tacker's old token", Prediction(CHANGED)

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        service_account.revoke_old_vim_tokens(host, cluster.store)
        return CHANGED


class GiveKubeconfig(HostPhase[Cluster]):
    """Give Tacker's login user the administrator's kubeconfig on control-plane nodes.

    The user may use sudo, and so has these rights already. A kubeconfig of the user's own is kept.
    """

    title = "give the login user a kubeconfig"
    prediction = Prediction(DEPENDS, "on whether the user has a kubeconfig of their own")

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        result = host.sudo(*_GIVE.command(_COPIES)).strip()
        if result == "kept":
            LOG.info("%s: the login user's own ~/.kube/config is kept", host.node)
        return CHANGED if result == "changed" else UNCHANGED


class RenewKubeconfig(GiveKubeconfig):
    """Give the user the administrator's kubeconfig with its renewed certificate."""

    title = "renew the login user's kubeconfig"
