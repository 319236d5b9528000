"""The machines of a VNF and their addresses; the only module that knows Heat."""

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

from mgmt_drivers.errors import InventoryError
from mgmt_drivers.request import LcmRequest, Vnfc
from mgmt_drivers.secret import Secret

LOG = logging.getLogger(__name__)

_TIMEOUT = 60  # seconds for one call of Heat's API
_REQUESTS = 16  # to Heat's API at a time
_HOST = "OS-EXT-SRV-ATTR:host"


@dataclass(frozen=True)
class Placement:
    """Where a server runs: Nova's compute host, and its availability zone."""

    host: str
    zone: str


@dataclass(frozen=True)
class Node:
    """One VNFC's machine.

    ``server_id`` is empty when Heat could not make it; ``addresses`` maps CP names to
    IPv4 addresses; ``placement`` is known where it was asked for.
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


@dataclass(frozen=True)
class Inventory:
    """The VNF's machines, in the order in which Tacker lists its VNFCs.

    ``shared`` holds the addresses that lie in the VNF's own stack and belong to
    no machine, such as a virtual IP, by resource name; ``volumes`` the ids of the
    Cinder volumes in all stacks, by resource name.
    """

    nodes: tuple[Node, ...]
    shared: Mapping[str, str]
    volumes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Address:
    """An IPv4 address in a stack: a port's or a floating one.

    ``name`` is its resource's, ``server_id`` empty when no machine has it.
    """

    name: str
    ip: str
    server_id: str


@dataclass(frozen=True)
class Contents:
    """The contents of a stack.

    Addresses; its servers' ids, empty where Heat could not make one; its Cinder volumes'
    ids by resource name; its servers' placements by server id, where they were asked for
    and are known. It has nothing where it does not exist any more.
    """

    addresses: Sequence[Address]
    servers: Sequence[str] = ()
    volumes: Mapping[str, str] = field(default_factory=dict)
    placements: Mapping[str, Placement] = field(default_factory=dict)
    exists: bool = True


class Stacks(Protocol):
    """Heat, as the inventory asks it: for the resources of one stack, without nested ones."""

    def contents(self, stack_id: str, placed: bool) -> Contents: ...


@dataclass(frozen=True)
class VimAccess:
    """How to reach the Heat that holds the VNF's stack (Keystone v3)."""

    auth_url: str
    username: str
    password: Secret
    project_name: str
    user_domain_name: str = "Default"
    project_domain_name: str = "Default"
    region: str | None = None
    verify: bool = True

    @classmethod
    def from_auth(
        cls, auth: Mapping[str, Any], region: str | None = None, verify: bool = True
    ) -> "VimAccess":
        """:param auth: a password login, by the names of Keystone's v3 plugin"""
        return cls(
            auth_url=auth["auth_url"],
            username=auth["username"],
            password=Secret(auth["password"]),
            project_name=auth["project_name"],
            user_domain_name=auth.get("user_domain_name") or "Default",
            project_domain_name=auth.get("project_domain_name") or "Default",
            region=region,
            verify=verify,
        )


class Heat:
    """Heat's API, reached with the access information of the VIM, which is asked for once."""

    def __init__(self, access: Callable[[], VimAccess]) -> None:
        self._access = access

    @functools.cached_property
    def _heat(self) -> Any:
        access = self._access()
        auth = v3.Password(
            auth_url=access.auth_url,
            username=access.username,
            password=access.password.reveal(),
            project_name=access.project_name,
            user_domain_name=access.user_domain_name,
            project_domain_name=access.project_domain_name,
        )
        keystone = session.Session(auth=auth, verify=access.verify, timeout=_TIMEOUT)
        return heat_client.Client("1", session=keystone, region_name=access.region)

    def contents(self, stack_id: str, placed: bool) -> Contents:
        try:
            listed = self._heat.resources.list(stack_id)
            ports = self._attributes(stack_id, listed, "OS::Neutron::Port")
            floating = self._attributes(stack_id, listed, "OS::Neutron::FloatingIP")
            machines = self._attributes(stack_id, listed, "OS::Nova::Server") if placed else {}
        except heat_errors.HTTPNotFound:
            listed = []
        except heat_errors.BaseException as error:
            raise InventoryError(f"Heat does not show stack {stack_id}: {error}") from error
        if not listed:  # so Heat shows one that it has deleted, as long as it remembers
            return Contents((), exists=False)
        holders = {port.get("id"): port.get("device_id") or "" for port in ports.values()}
        found = [
            Address(name, address, port.get("device_id") or "")
            for name, port in ports.items()
            if (address := _ipv4(port))
        ]
        found += [
            Address(name, fip["floating_ip_address"], holders.get(fip.get("port_id"), ""))
            for name, fip in floating.items()
            if fip.get("floating_ip_address")
        ]
        servers = _ids(listed, "OS::Nova::Server")
        return Contents(
            found,
            list(servers.values()),
            _ids(listed, "OS::Cinder::Volume"),
            {servers[n]: _placement(a) for n, a in machines.items() if a.get(_HOST)},
        )

    def _attributes(
        self, stack_id: str, listed: Iterable[Any], kind: str
    ) -> dict[str, dict[str, Any]]:
        """Attributes of those of the stack's resources that are of one type, by name."""
        names = _ids(listed, kind)
        return {name: self._heat.resources.get(stack_id, name).attributes for name in names}


def _ipv4(port: Mapping[str, Any]) -> str | None:
    """A port's first IPv4 address; on a network of both kinds they come in any order."""
    listed = (fixed["ip_address"] for fixed in port.get("fixed_ips") or ())
    return next((found for found in listed if ipaddress.ip_address(found).version == 4), None)


def _placement(server: Mapping[str, Any]) -> Placement:
    """A server's placement, of its attributes as Nova shows them."""
    return Placement(server[_HOST], server.get("OS-EXT-AZ:availability_zone") or "")


def _ids(listed: Iterable[Any], kind: str) -> dict[str, str]:
    """Ids of the resources of one type by name, empty where Heat could not make them."""
    return {
        r.resource_name: "" if r.resource_status == "CREATE_FAILED" else r.physical_resource_id
        for r in listed
        if r.resource_type == kind
    }


def read(request: LcmRequest, stacks: Stacks, placed: bool = False) -> Inventory:
    """Learn what machines and addresses the VNF has.

    A VNFC whose own stack is gone has no machine any more, whatever Tacker has noted: a
    scale-in may have failed when Heat had deleted it.

    :param placed: whether to learn where its machines run, which costs a question each
    :raises InventoryError: when there is no machine, or Heat does not show a stack
    """
    if not request.vnfcs:
        raise InventoryError(f"VNF instance {request.vnf_instance_id} has no VNFC")
    ask = functools.partial(stacks.contents, placed=placed)
    own = ask(request.stack_id)  # by this thread, for it may have to ask Tacker for the VIM
    if not own.exists:
        raise InventoryError(f"Heat has no stack {request.stack_id}, that of the VNF")
    nested = sorted({vnfc.stack_id for vnfc in request.vnfcs} - {"", request.stack_id})
    with ThreadPoolExecutor(_REQUESTS) as pool:
        contents = dict(zip(nested, pool.map(ask, nested), strict=True))
    contents[request.stack_id] = own
    places = {vnfc: contents[vnfc.stack_id or request.stack_id] for vnfc in request.vnfcs}
    gone = [vnfc.id for vnfc, place in places.items() if not place.exists]
    if gone:
        LOG.warning("Heat has no stacks any more of VNFCs %s", ", ".join(gone))
    if len(gone) == len(places):
        raise InventoryError(f"Heat has no stack of VNF instance {request.vnf_instance_id}'s VNFCs")
    return Inventory(
        nodes=tuple(_node(vnfc, place) for vnfc, place in places.items() if place.exists),
        shared={a.name: a.ip for a in own.addresses if not a.server_id},
        volumes={name: id_ for found in contents.values() for name, id_ in found.volumes.items()},
    )


def check_created(request: LcmRequest, lacking: Sequence[str]) -> None:
    """Tacker goes on with a heal also when Heat could not replace what is to be replaced.

    :param lacking: what Heat has not created, in words
    :raises InventoryError: when there is anything
    """
    if lacking:
        raise InventoryError(
            f"Heat could not create {', '.join(lacking)}; why is shown by "
            f"`openstack stack failures list --long {request.stack_id}`"
        )


def _node(vnfc: Vnfc, found: Contents) -> Node:
    """A VNFC's machine: in a stack with one server that one, whatever Tacker has noted.

    Heat may have replaced it in an operation that failed later; and the ports of one that
    Nova has lost are nobody's, like the virtual IP's, which may lie in the same stack.
    """
    alone = len(found.servers) == 1
    server_id = found.servers[0] if alone else vnfc.server_id
    bound = [a for a in found.addresses if a.server_id == server_id]
    own = {a.name: a.ip for a in bound or (found.addresses if alone else ())}
    return Node(vnfc.id, vnfc.vdu_id, server_id, own, found.placements.get(server_id))
