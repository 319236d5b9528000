"""A cluster as a VIM of Tacker, and the registry of VIMs."""

from dataclasses import dataclass
from typing import Protocol

from mgmt_drivers.cluster.access.service_account import Credentials
from mgmt_drivers.params.login import SshLogin

STORE_KEY = "vim"  # key of the id of a VNF's own VIM in the store


@dataclass(frozen=True)
class HelmAccess:
    """The SSH addresses and the login of the control-plane nodes that have Helm."""

    addresses: tuple[str, ...]
    login: SshLogin


@dataclass(frozen=True)
class Vim:
    """A cluster to be registered in Tacker; with ``helm`` the VIM accepts charts."""

    name: str
    url: str
    credentials: Credentials
    helm: HelmAccess | None = None


def description_of(vnf_instance_id: str) -> str:
    return f"Kubernetes cluster of VNF instance {vnf_instance_id}"


class Vims(Protocol):
    """The clusters that are registered in Tacker.

    ``log_in_for_helm``: Tacker logs in to control-plane nodes by password to run Helm; otherwise
    Tacker runs Helm on its own host.
    """

    log_in_for_helm: bool

    def is_taken(self, name: str) -> bool:
        """Whether another VIM than this VNF's has the name."""

    def register(self, vim: Vim) -> None:
        """Register a cluster, in place of a VIM of this VNF that was registered before."""

    def move_helm(self, access: HelmAccess) -> None:
        """Change the nodes with Helm in the registered VIM of this VNF."""

    def renew(self, credentials: Credentials) -> None:
        """Change the credentials of the registered VIM of this VNF."""

    def unregister(self) -> None:
        """Remove the VIM of this VNF, if one is registered."""
