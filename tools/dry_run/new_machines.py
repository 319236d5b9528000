"""Machines that an operation would create, as far as they are known before."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from mgmt_drivers.errors import NotMade
from mgmt_drivers.inventory import Address, Contents, Node, Stacks
from mgmt_drivers.package import address_names, floating_ips, volume_names
from mgmt_drivers.request import LcmRequest, Vnfc
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh.session import DEFAULT_OUTPUT, DEFAULT_TIMEOUT, Result, Stdin

STACK = "new"  # id of the stack of a VNF that does not exist yet
_NEW = "new-"  # prefix of ids of new servers and stacks; other ids are UUIDs
_UNKNOWN = "0.0.0.0"  # noqa: S104 - not the address of any machine


def is_new(server_id: str) -> bool:
    """Whether a server does not exist yet."""
    return server_id.startswith(_NEW)


class NotMadeSession:
    """The connection to a machine that does not exist yet, and so has no file of the drivers."""

    has_former_login = False

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: Stdin = None,
        sudo: bool = False,
        check: bool = True,
        timeout: float = DEFAULT_TIMEOUT,
        limit: int = DEFAULT_OUTPUT,
    ) -> Result:
        if argv[0] == "test" and not check:
            return Result(1)
        raise NotMade(f"the machine is yet to be made, and was asked: {argv[0]}")

    def hold(self, argv: Sequence[str], word: str, *, timeout: float = DEFAULT_TIMEOUT) -> Result:
        raise NotMade("the machine is yet to be made")

    def hide(self, *secrets: Secret) -> None:
        """Do nothing: no output has to be masked."""

    def close(self) -> None:
        """Do nothing: there is no connection."""


def vnfcs(numbers: Mapping[str, int]) -> list[Vnfc]:
    """New VNFCs, each in a stack of its own.

    :param numbers: number of machines, by VDU
    """
    vdus = [vdu for vdu, number in numbers.items() for _ in range(number)]
    return [
        Vnfc(f"{_NEW}{n}", vdu, f"{_NEW}{n}", f"{_NEW}{n}") for n, vdu in enumerate(vdus, start=1)
    ]


def renewed(replaced: Iterable[Vnfc]) -> dict[str, Vnfc]:
    """VNFCs with new machines, by the server ids of the replaced machines."""
    return {
        vnfc.server_id: replace(vnfc, server_id=f"{_NEW}{n}") for n, vnfc in enumerate(replaced, 1)
    }


class NoStacks:
    """A Heat without stacks."""

    def read_contents(self, stack_id: str, placed: bool) -> Contents:
        return Contents((), exists=False)


class ComingStacks:
    """Heat's stacks after the operation; a :class:`mgmt_drivers.inventory.Stacks`.

    :param stacks: the stacks before the operation
    :param made: the contents of new stacks by id
    :param renewed: ids of new servers by the ids of the servers that they replace; ports and
        volumes stay
    """

    def __init__(
        self,
        stacks: Stacks,
        made: Mapping[str, Contents],
        renewed: Mapping[str, str] | None = None,
    ) -> None:
        self._stacks, self._made, self._renewed = stacks, made, renewed or {}

    def read_contents(self, stack_id: str, placed: bool) -> Contents:
        if stack_id in self._made:
            return self._made[stack_id]
        before = self._stacks.read_contents(stack_id, placed)
        new = self._renewed
        return replace(
            before,
            servers=[new.get(server, server) for server in before.servers],
            addresses=[replace(a, server_id=new.get(a.server_id, a.server_id))
                       for a in before.addresses],
        )


def stacks_of(
    request: LcmRequest, new: Iterable[Vnfc], known: Sequence[Node]
) -> dict[str, Contents]:
    """The stacks of new VNFCs.

    :param known: existing machines, whose CPs new machines of the same VDU get, too
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
    """The own stack of a VNF that does not exist yet: addresses of no machine, and volumes."""
    package, flavour = request.package, request.flavour
    bound = {name for vdu in set(request.cps.values()) for name in _addresses(request, vdu)}
    shared = sorted(address_names(package, flavour) - bound)
    volumes = {name: f"{_NEW}{name}" for name in volume_names(package, flavour)}
    return Contents([Address(name, _UNKNOWN, "") for name in shared], volumes=volumes)


def _addresses(request: LcmRequest, vdu: str) -> list[str]:
    """Names of the addresses of a VDU's machines: its CPs, and the floating IPs of its CPs."""
    cps = [cp for cp, vdu_of_cp in request.cps.items() if vdu_of_cp == vdu]
    floating = floating_ips(request.package, request.flavour)
    return [*cps, *(name for name, port in floating.items() if port in cps)]
