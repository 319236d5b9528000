"""The machines of a VNF and their addresses; the only module that uses Heat's API."""

import functools
import ipaddress
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

from heatclient import client as heat_client
from heatclient import exc as heat_errors
from keystoneauth1 import session
from keystoneauth1.identity import v3

from mgmt_drivers.errors import InventoryError, ServiceFailed
from mgmt_drivers.request import LcmRequest, Vnfc

LOG = logging.getLogger(__name__)

_TIMEOUT = 60  # seconds for one call of Heat's API
_REQUESTS = 16  # to Heat's API at a time
_HOST = "OS-EXT-SRV-ATTR:host"


@dataclass(frozen=True)
class Placement:
    """The compute host and the availability zone of a server in Nova.

    ``host`` is empty if Nova does not show it to the VIM's user; ``host_id`` is Nova's digest of
    project and host, which each user may see.
    """

    host: str
    zone: str
    host_id: str = ""


@dataclass(frozen=True)
class Node:
    """One VNFC's machine.

    ``server_id`` is empty if Heat could not create the server; ``addresses`` maps CP names to
    IPv4 addresses; ``placement`` is None unless it was requested and Nova shows it.
    """

    vnfc_id: str
    vdu: str
    server_id: str
    addresses: Mapping[str, str] = field(hash=False)
    placement: Placement | None = None

    @property
    def short_id(self) -> str:
        """The part of the server's id that names the machine in the cluster."""
        return self.server_id.replace("-", "")[:12]

    def address(self, cp: str) -> str:
        """The address of a CP; raises InventoryError if the machine has no such CP."""
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


@dataclass(frozen=True)
class Inventory:
    """The VNF's machines, in the order in which Tacker lists its VNFCs.

    ``shared`` are the addresses in the VNF's own stack that belong to no machine, such as a
    virtual IP, by resource name. ``volumes`` are the ids of the Cinder volumes in all stacks, by
    resource name.
    """

    nodes: tuple[Node, ...]
    shared: Mapping[str, str]
    volumes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Address:
    """An IPv4 address in a stack, of a port or a floating IP.

    ``name`` is the name of the resource; ``server_id`` is empty if no machine has the address.
    """

    name: str
    ip: str
    server_id: str


@dataclass(frozen=True)
class Contents:
    """The contents of a stack; empty if the stack does not exist any more.

    ``servers`` are the ids of the servers, empty for a server that Heat could not create;
    ``volumes`` the ids of the Cinder volumes by resource name; ``placements`` the placements by
    server id, if they were requested and Nova shows them.
    """

    addresses: Sequence[Address]
    servers: Sequence[str] = ()
    volumes: Mapping[str, str] = field(default_factory=dict)
    placements: Mapping[str, Placement] = field(default_factory=dict)
    exists: bool = True


class Stacks(Protocol):
    """Heat, which the inventory asks for the resources of one stack, without nested stacks."""

    def read_contents(self, stack_id: str, placed: bool) -> Contents: ...


@dataclass(frozen=True)
class VimAccess:
    """How to reach the Heat that holds the VNF's stack."""

    auth: v3.Password
    region: str | None
    verify: bool

    @classmethod
    def from_auth(cls, auth: Mapping[str, Any], region: str | None, verify: bool) -> "VimAccess":
        """:param auth: a password login, by the names of Keystone's v3 plugin"""
        login = v3.Password(
            auth_url=auth["auth_url"],
            username=auth["username"],
            password=auth["password"],
            project_name=auth["project_name"],
            user_domain_name=auth.get("user_domain_name") or "Default",
            project_domain_name=auth.get("project_domain_name") or "Default",
        )
        return cls(login, region, verify)


class Heat:
    """Heat's API, with the access information of the VIM, which is requested once."""

    def __init__(self, access: Callable[[], VimAccess]) -> None:
        self._access = access

    @functools.cached_property
    def _heat(self) -> Any:
        access = self._access()
        keystone = session.Session(auth=access.auth, verify=access.verify, timeout=_TIMEOUT)
        return heat_client.Client("1", session=keystone, region_name=access.region)

    def read_contents(self, stack_id: str, placed: bool) -> Contents:
        try:
            listed = self._heat.resources.list(stack_id)
            ports = self._read_attributes(stack_id, listed, "OS::Neutron::Port")
            floating = self._read_attributes(stack_id, listed, "OS::Neutron::FloatingIP")
            machines = self._read_attributes(stack_id, listed, "OS::Nova::Server") if placed else {}
        except heat_errors.HTTPNotFound:
            listed = []
        except heat_errors.BaseException as error:
            raise InventoryError(f"Heat does not show stack {stack_id}: {error}") from error
        if not listed:  # for some time Heat shows a deleted stack without resources
            return Contents((), exists=False)
        holders = {port.get("id"): port.get("device_id") or "" for port in ports.values()}
        addresses = [
            Address(name, address, port.get("device_id") or "")
            for name, port in ports.items()
            if (address := _ipv4(port))
        ]
        addresses += [
            Address(name, fip["floating_ip_address"], holders.get(fip.get("port_id"), ""))
            for name, fip in floating.items()
            if fip.get("floating_ip_address")
        ]
        servers = _ids(listed, "OS::Nova::Server")
        return Contents(
            addresses,
            list(servers.values()),
            _ids(listed, "OS::Cinder::Volume"),
            {servers[name]: _placement(shown) for name, shown in machines.items()},
        )

    def _read_attributes(
        self, stack_id: str, listed: Iterable[Any], kind: str
    ) -> dict[str, dict[str, Any]]:
        names = _ids(listed, kind)
        return {name: self._heat.resources.get(stack_id, name).attributes for name in names}


def _ipv4(port: Mapping[str, Any]) -> str | None:
    """A port's first IPv4 address; IPv4 and IPv6 addresses come in any order."""
    listed = (fixed["ip_address"] for fixed in port.get("fixed_ips") or ())
    return next((text for text in listed if ipaddress.ip_address(text).version == 4), None)


def _placement(server: Mapping[str, Any]) -> Placement:
    zone = server.get("OS-EXT-AZ:availability_zone") or ""
    return Placement(server.get(_HOST) or "", zone, server.get("hostId") or "")


def _ids(listed: Iterable[Any], kind: str) -> dict[str, str]:
    """The ids of the resources of one type by name; empty if Heat could not create a resource."""
    return {
        r.resource_name: "" if r.resource_status == "CREATE_FAILED" else r.physical_resource_id
        for r in listed
        if r.resource_type == kind
    }


def read(request: LcmRequest, stacks: Stacks, placed: bool = False) -> Inventory:
    """Read the machines and addresses of the VNF from Heat.

    A VNFC whose own stack is deleted has no machine any more, even if Tacker still has the VNFC: a
    scale-in may have failed after Heat had deleted the stack.

    :param placed: whether to read the placements, with one request for each server
    :raises InventoryError: if there is no machine, or Heat does not show a stack
    """
    if not request.vnfcs:
        raise InventoryError(f"VNF instance {request.vnf_instance_id} has no VNFC")
    ask = functools.partial(stacks.read_contents, placed=placed)
    own = ask(request.stack_id)  # in this thread, since Tacker may be asked for the VIM
    if not own.exists:
        raise InventoryError(f"Heat has no stack {request.stack_id}, the stack of the VNF")
    nested = sorted({vnfc.stack_id for vnfc in request.vnfcs} - {"", request.stack_id})
    with ThreadPoolExecutor(_REQUESTS) as pool:
        contents = dict(zip(nested, pool.map(ask, nested), strict=True))
    contents[request.stack_id] = own
    by_vnfc = {vnfc: contents[vnfc.stack_id or request.stack_id] for vnfc in request.vnfcs}
    gone = [vnfc.id for vnfc, stack in by_vnfc.items() if not stack.exists]
    if gone:
        LOG.warning("Heat has no stacks any more of VNFCs %s", ", ".join(gone))
    if len(gone) == len(by_vnfc):
        raise InventoryError(f"Heat has no stack of VNF instance {request.vnf_instance_id}'s VNFCs")
    return Inventory(
        nodes=tuple(_node(vnfc, stack) for vnfc, stack in by_vnfc.items() if stack.exists),
        shared={a.name: a.ip for a in own.addresses if not a.server_id},
        volumes={name: id_ for stack in contents.values() for name, id_ in stack.volumes.items()},
    )


def check_created(request: LcmRequest, lacking: Sequence[str]) -> None:
    """:raises ServiceFailed: if Heat lacks something; Tacker goes on with a heal all the same"""
    if lacking:
        raise ServiceFailed(
            f"Heat could not create {', '.join(lacking)}. Run `openstack stack failures list "
            f"--long {request.stack_id}` for the reason"
        )


def _node(vnfc: Vnfc, stack: Contents) -> Node:
    """A VNFC's machine: the only server of its stack, or else the server that Tacker knows.

    Tacker may not know a server that Heat has replaced in an operation that failed later. The
    ports of a server that Nova has lost have no device, like the virtual IP, which may be in the
    same stack.
    """
    is_alone = len(stack.servers) == 1
    server_id = stack.servers[0] if is_alone else vnfc.server_id
    bound = [a for a in stack.addresses if a.server_id == server_id]
    own = {a.name: a.ip for a in bound or (stack.addresses if is_alone else ())}
    return Node(vnfc.id, vnfc.vdu_id, server_id, own, stack.placements.get(server_id))
