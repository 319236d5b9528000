"""Before Heat deletes all machines of a VNF: nobody else may be at work on them."""

import logging
from collections.abc import Callable, Sequence

from mgmt_drivers.engine.operation import Operation
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import text_of
from mgmt_drivers.inventory import Node
from mgmt_drivers.request import LcmRequest

LOG = logging.getLogger(__name__)


def refuse_occupied(
    request: LcmRequest,
    services: Services,
    prepare: Callable[[], tuple[Operation, Sequence[Node]]],
) -> None:
    """See that no other operation works on the machines; one that has ended or died does not.

    Whatever else is wrong with the VNF is no reason to keep it: it is logged. A dry run takes no
    lock, and so sees none.

    :param prepare: makes the operation, and finds the VNF's machines
    :raises OperationError: naming each machine that another operation has, and which
    """
    if services.rehearsal:
        return
    try:
        operation, machines = prepare()
    except Exception as error:  # noqa: BLE001 - parameters, Heat, or the VNF package
        vnf = request.vnf_instance_id
        text = "VNF %s: whether another operation works on its machines is not known: %s"
        LOG.warning(text, vnf, text_of(error))
        return
    with operation:
        operation.refuse_occupied(machines)
