"""A cluster as Tacker has it: a VIM, and the registry of VIMs."""

from dataclasses import dataclass
from typing import Protocol

from mgmt_drivers.cluster.access.service_account import Credentials
from mgmt_drivers.params.login import SshLogin


@dataclass(frozen=True)
class HelmAccess:
    """The control-plane nodes that have Helm, by the addresses and login that SSH uses."""

    addresses: tuple[str, ...]
    login: SshLogin


@dataclass(frozen=True)
class Vim:
    """A cluster as it is to be registered in Tacker; with ``helm`` it takes charts."""

    name: str
    url: str
    credentials: Credentials
    helm: HelmAccess | None = None


def description_of(vnf_instance_id: str) -> str:
    """The mark of a VIM as a VNF's own, which outlives an operation that failed."""
    return f"Kubernetes cluster of VNF instance {vnf_instance_id}"


class Vims(Protocol):
    """The clusters that are registered in Tacker.

    ``log_in_for_helm``: Tacker runs Helm on the control-plane nodes, with their password; else
    on its own host.
    """

    log_in_for_helm: bool

    def is_taken(self, name: str) -> bool:
        """Whether there is a VIM of that name which is not this VNF's."""

    def register(self, vim: Vim) -> None:
        """Register a cluster, in the place of one of this VNF that was registered before."""

    def move_helm(self, access: HelmAccess) -> None:
        """Let the cluster of this VNF that is registered have Helm on these nodes."""

    def unregister(self) -> None:
        """Remove what is registered of this VNF, if anything."""
