"""A cluster as a VIM, which Tacker's v2 API keeps in the VNF instance."""

from mgmt_drivers.cluster.access.service_account import Credentials
from mgmt_drivers.tacker.v2 import Call
from mgmt_drivers.vim import HelmAccess, Vim

# Tacker's v2 API deploys manifests to VIMs of the first type, and charts to VIMs of the second
# type (SOL003 4.4.1.6).
_KUBERNETES, _HELM = "ETSINFV.KUBERNETES.V_1", "ETSINFV.HELM.V_3"


class InstanceVims:
    """The VIMs of the VNF instance; a :class:`mgmt_drivers.vim.Vims`."""

    log_in_for_helm = False

    def __init__(self, call: Call) -> None:
        self._instance = call.instance

    def is_taken(self, name: str) -> bool:
        vims = self._instance.get("vimConnectionInfo") or {}
        return any(vim.get("vimId") == name for vim in vims.values())

    def register(self, vim: Vim) -> None:
        """Add the cluster after the OpenStack VIM, since Tacker uses the first VIM.

        The new key begins with the first VIM's key and is longer, so that the first VIM stays first
        if the database sorts the keys.
        """
        self.unregister()
        first = next(iter(self._instance["vimConnectionInfo"]))
        self._instance["vimConnectionInfo"][f"{first}.{vim.name}"] = {
            "vimId": vim.name,
            "vimType": _HELM if vim.helm else _KUBERNETES,
            "interfaceInfo": {"endpoint": vim.url, "ssl_ca_cert": vim.credentials.ca},
            "accessInfo": {"bearer_token": vim.credentials.token.reveal()},
        }

    def move_helm(self, access: HelmAccess) -> None:
        """Do nothing: the instance has no data of nodes."""

    def renew(self, credentials: Credentials) -> None:
        for vim in self._instance["vimConnectionInfo"].values():
            if vim.get("vimType") in (_KUBERNETES, _HELM):
                vim["interfaceInfo"]["ssl_ca_cert"] = credentials.ca
                vim["accessInfo"]["bearer_token"] = credentials.token.reveal()

    def unregister(self) -> None:
        vims = self._instance.get("vimConnectionInfo") or {}
        self._instance["vimConnectionInfo"] = {
            key: vim
            for key, vim in vims.items()
            if vim.get("vimType") not in (_KUBERNETES, _HELM)
        }
