"""The machines of a VNF and their addresses; the only module that knows Heat."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from heatclient import client as heat_client
from heatclient import exc as heat_errors
from keystoneauth1 import session
from keystoneauth1.identity import v3

from mgmt_drivers.errors import InventoryError
from mgmt_drivers.request import LcmRequest, VimAccess, Vnfc

_TIMEOUT = 60  # seconds for one call of Heat's API


@dataclass(frozen=True)
class Node:
    """One VNFC's machine. ``addresses`` maps CP names to IPv4 addresses."""

    vnfc_id: str
    vdu: str
    server_id: str
    addresses: Mapping[str, str] = field(hash=False)

    def address(self, cp: str) -> str:
        """Address of one CP; raises InventoryError when the machine has no such CP."""
        try:
            return self.addresses[cp]
        except KeyError:
            known = ", ".join(sorted(self.addresses)) or "none"
            raise InventoryError(
                f"{self} has no address at CP {cp}; its CPs in Heat: {known}"
            ) from None

    def __str__(self) -> str:
        where = ", ".join(sorted(self.addresses.values())) or "no address"
        return f"{self.vdu} (VNFC {self.vnfc_id}, {where})"


class Stacks(Protocol):
    """What is asked of Heat: the resources of one stack, without nested ones."""

    def ports(self, stack_id: str) -> Mapping[str, Mapping[str, Any]]:
        """Attributes of the stack's Neutron ports, by resource name."""
        ...


class Heat:
    """Heat's API, reached with the access information of the VIM."""

    def __init__(self, access: VimAccess) -> None:
        auth = v3.Password(
            auth_url=access.auth_url,
            username=access.username,
            password=access.password.reveal(),
            project_name=access.project_name,
            user_domain_name=access.user_domain_name,
            project_domain_name=access.project_domain_name,
        )
        keystone = session.Session(auth=auth, verify=access.verify, timeout=_TIMEOUT)
        self._heat = heat_client.Client("1", session=keystone, region_name=access.region)

    def ports(self, stack_id: str) -> Mapping[str, Mapping[str, Any]]:
        try:
            listed = self._heat.resources.list(stack_id)
            names = [r.resource_name for r in listed if r.resource_type == "OS::Neutron::Port"]
            return {name: self._heat.resources.get(stack_id, name).attributes for name in names}
        except heat_errors.BaseException as error:
            raise InventoryError(f"Heat does not show stack {stack_id}: {error}") from error


def read(request: LcmRequest, stacks: Stacks) -> list[Node]:
    """The machines of the VNF, in the order in which Tacker lists its VNFCs.

    :raises InventoryError: when there is none, or Heat does not show a stack
    """
    if not request.vnfcs:
        raise InventoryError(f"VNF instance {request.vnf_instance_id} has no VNFC")
    ids = {vnfc.stack_id or request.stack_id for vnfc in request.vnfcs}
    ports = {stack_id: stacks.ports(stack_id) for stack_id in sorted(ids)}
    return [_node(vnfc, ports[vnfc.stack_id or request.stack_id]) for vnfc in request.vnfcs]


def _node(vnfc: Vnfc, ports: Mapping[str, Mapping[str, Any]]) -> Node:
    addresses = {
        name: port["fixed_ips"][0]["ip_address"]
        for name, port in ports.items()
        if port.get("fixed_ips") and port.get("device_id") == vnfc.server_id
    }
    return Node(vnfc.id, vnfc.vdu_id, vnfc.server_id, addresses)
