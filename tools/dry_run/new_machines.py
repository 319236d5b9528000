"""Machines that an operation is yet to make, as far as they can be known before."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from mgmt_drivers.errors import NotMade
from mgmt_drivers.inventory import Address, Contents, Node, Stacks
from mgmt_drivers.package import address_names, floating_ips, volume_names
from mgmt_drivers.request import LcmRequest, Vnfc
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh.session import DEFAULT_TIMEOUT, Result, Stdin

STACK = "new"  # that of a VNF without any
_NEW = "new-"  # begins ids of servers and stacks, which elsewhere are UUIDs
_UNKNOWN = "0.0.0.0"  # noqa: S104 - an address that nobody has


def is_new(server_id: str) -> bool:
    """Whether a server is yet to be made."""
    return server_id.startswith(_NEW)


class NotMadeSession:
    """The connection to a machine that is yet to be made: no file of the drivers is on it."""

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: Stdin = None,
        sudo: bool = False,
        check: bool = True,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Result:
        if argv[0] == "test" and not check:
            return Result(1)
        raise NotMade(f"the machine is yet to be made, and was asked: {argv[0]}")

    def hold(self, argv: Sequence[str], word: str, *, timeout: float = DEFAULT_TIMEOUT) -> Result:
        raise NotMade("the machine is yet to be made")

    def hide(self, *secrets: Secret) -> None:
        """Nothing is told of it."""

    def close(self) -> None:
        """There is nothing to be closed."""


def vnfcs(numbers: Mapping[str, int]) -> list[Vnfc]:
    """VNFCs that are yet to be made, each in a stack of its own.

    :param numbers: of machines, by VDU
    """
    vdus = [vdu for vdu, number in numbers.items() for _ in range(number)]
    return [
        Vnfc(f"{_NEW}{n}", vdu, f"{_NEW}{n}", f"{_NEW}{n}") for n, vdu in enumerate(vdus, start=1)
    ]


def renewed(found: Iterable[Vnfc]) -> dict[str, Vnfc]:
    """What becomes of VNFCs whose machines are replaced, by the ids of these."""
    return {
        vnfc.server_id: replace(vnfc, server_id=f"{_NEW}{n}") for n, vnfc in enumerate(found, 1)
    }


class NoStacks:
    """Heat, where nothing is yet."""

    def contents(self, stack_id: str, placed: bool) -> Contents:
        return Contents((), exists=False)


class ComingStacks:
    """Heat's stacks as the operation will have left them; a :class:`mgmt_drivers.inventory.Stacks`.

    :param stacks: as they are
    :param made: those that are yet to be made
    :param renewed: ids of servers that are replaced, and those of their successors; ports and
        volumes stay
    """

    def __init__(
        self,
        stacks: Stacks,
        made: Mapping[str, Contents],
        renewed: Mapping[str, str] | None = None,
    ) -> None:
        self._stacks, self._made, self._renewed = stacks, made, renewed or {}

    def contents(self, stack_id: str, placed: bool) -> Contents:
        if stack_id in self._made:
            return self._made[stack_id]
        found = self._stacks.contents(stack_id, placed)
        new = self._renewed
        return replace(
            found,
            servers=[new.get(server, server) for server in found.servers],
            addresses=[replace(a, server_id=new.get(a.server_id, a.server_id))
                       for a in found.addresses],
        )


def stacks_of(
    request: LcmRequest, new: Iterable[Vnfc], known: Sequence[Node]
) -> dict[str, Contents]:
    """The stacks of VNFCs that are yet to be made.

    :param known: machines that there are, to whose like others are made
    """
    like = {node.vdu: list(node.addresses) for node in known}
    return {
        vnfc.stack_id: Contents(
            [
                Address(name, _UNKNOWN, vnfc.server_id)
                for name in like.get(vnfc.vdu_id) or _addresses(request, vnfc.vdu_id)
            ],
            [vnfc.server_id],
        )
        for vnfc in new
    }


def own_stack(request: LcmRequest) -> Contents:
    """The VNF's own stack before there is one: addresses of no machine, and volumes."""
    package, flavour = request.package, request.flavour
    bound = {name for vdu in set(request.cps.values()) for name in _addresses(request, vdu)}
    shared = sorted(address_names(package, flavour) - bound)
    volumes = {name: f"{_NEW}{name}" for name in volume_names(package, flavour)}
    return Contents([Address(name, _UNKNOWN, "") for name in shared], volumes=volumes)


def _addresses(request: LcmRequest, vdu: str) -> list[str]:
    """Names of the addresses that a VDU's machines have: of CPs, and floating IPs at these."""
    cps = [cp for cp, of in request.cps.items() if of == vdu]
    floating = floating_ips(request.package, request.flavour)
    return [*cps, *(name for name, port in floating.items() if port in cps)]
