"""What an operation knows of a private registry VNF; the context of its phases, immutable."""

from collections.abc import Sequence
from dataclasses import dataclass

from mgmt_drivers.host.host import Host
from mgmt_drivers.params.private_registry import PrivateRegistryParams
from mgmt_drivers.params.proxy import Proxy


@dataclass(frozen=True)
class RegistryVnf:
    """The machines, each of which is to be a registry."""

    params: PrivateRegistryParams
    new_hosts: Sequence[Host]

    @property
    def proxy(self) -> Proxy | None:
        return self.params.proxy
