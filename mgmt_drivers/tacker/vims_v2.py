"""A cluster as a VIM, which Tacker's v2 API keeps in the VNF instance."""

from mgmt_drivers.tacker.v2 import Call
from mgmt_drivers.vim import HelmAccess, Vim

# Tacker's v2 API deploys manifests onto the one, and charts onto the other (SOL003 4.4.1.6).
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
        """Behind the VIM that Tacker goes on to use.

        Tacker takes the first. Its key begins the new one's, which is longer: so it stays
        the first in whatever order a database keeps them.
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
        """Nothing in the instance names nodes."""

    def unregister(self) -> None:
        vims = self._instance.get("vimConnectionInfo") or {}
        self._instance["vimConnectionInfo"] = {
            key: vim
            for key, vim in vims.items()
            if vim.get("vimType") not in (_KUBERNETES, _HELM)
        }
