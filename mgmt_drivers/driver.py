"""What the drivers have in common: an operation with its logins, host keys and trace."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from mgmt_drivers.errors import InventoryError
from mgmt_drivers.host.host import Host
from mgmt_drivers.inventory import Node
from mgmt_drivers.operation import Crew, Operation
from mgmt_drivers.plans.plan import Plan
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.secret import Masker, Secret
from mgmt_drivers.ssh.connection import BOOT_LIMIT, Endpoint, connect
from mgmt_drivers.ssh.hostkeys import HostKeys
from mgmt_drivers.ssh.session import Session
from mgmt_drivers.trace import Trace

C = TypeVar("C")


@dataclass(frozen=True)
class Surroundings:
    """What the process around a driver offers.

    ``trace_folder`` is where traces go, if anywhere; ``save_host_keys`` is given
    the host keys of the machines when an operation ends, also when it fails;
    ``ssh_timeout`` is how many seconds a machine has to answer on its SSH port;
    ``connect`` logs in to a machine.
    """

    trace_folder: Path | None
    save_host_keys: Callable[[dict[str, str]], None]
    ssh_timeout: float = BOOT_LIMIT
    connect: Callable[[Endpoint, HostKeys, Masker, float], Session] = connect


def carry_out(
    request: LcmRequest,
    plan: Plan,
    crew: Crew,
    surroundings: Surroundings,
    *,
    context: Callable[[Sequence[Host]], C],
    endpoint: Callable[[Node], Endpoint],
    secrets: Iterable[Secret],
) -> C:
    """Carry a plan out on machines; parameters as of :class:`Operation`.

    :param endpoint: how to log in to a machine
    :param secrets: what must not be seen in what machines print
    :raises InventoryError: when a machine that is needed does not exist
    :raises OperationError: naming machine, phase and cause
    """
    check_made(request, [str(node) for node in crew.required if not node.server_id])
    host_keys = HostKeys(request.host_keys)
    reached = {node.server_id for node in (*crew.required, *crew.optional, *crew.any_of)}
    host_keys.keep_only(reached | {vnfc.server_id for vnfc in request.vnfcs})
    masker = Masker(secrets)

    def open_session(node: Node, limit: float | None) -> Session:
        limit = limit or surroundings.ssh_timeout
        return surroundings.connect(endpoint(node), host_keys, masker, limit)

    operation = Operation(
        name=request.operation,
        vnf_instance_id=request.vnf_instance_id,
        context=context,
        connect=open_session,
        trace=Trace(surroundings.trace_folder),
    )
    try:
        return operation.carry_out(plan, crew)
    finally:
        surroundings.save_host_keys(host_keys.as_dict())


def check_made(request: LcmRequest, lacking: Sequence[str]) -> None:
    """Tacker goes on with a heal also when Heat could not replace what is to be replaced.

    :param lacking: what Heat has not made, in words
    :raises InventoryError: when there is anything
    """
    if lacking:
        raise InventoryError(
            f"Heat could not make {', '.join(lacking)}; why is shown by "
            f"`openstack stack failures list --long {request.stack_id}`"
        )
