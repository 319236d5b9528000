"""Terminate, and heal of the whole VNF: the check before Heat deletes all machines of a VNF.

The drivers change nothing on the machines, but no other operation may be working on them.
"""

import logging
from collections.abc import Callable

from mgmt_drivers.engine.operation import UNCHECKED, Operation
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import text_of
from mgmt_drivers.operations.opening import open_operation, read_topology
from mgmt_drivers.request import LcmRequest

LOG = logging.getLogger(__name__)


def check_unlocked(
    vnf_instance_id: str, services: Services, make_request: Callable[[], LcmRequest]
) -> None:
    """Check the machines of a cluster as :func:`check_machines` does."""

    def prepare() -> Operation:
        request = make_request()
        return open_operation(request, services, read_topology(request, services))

    check_machines(vnf_instance_id, services, prepare)


def check_machines(
    vnf_instance_id: str, services: Services, prepare: Callable[[], Operation]
) -> None:
    """Check that no other operation works on the machines.

    Other problems of the VNF do not block a deletion: they are logged. A dry run takes no lock,
    and checks nothing.

    :param prepare: reads all that users may have damaged: the request, the metadata, the package
    :raises OperationError: naming each locked machine, and the operation that holds the lock
    """
    if services.dry_run:
        return
    try:
        operation = prepare()
    except Exception as error:  # noqa: BLE001 - parameters, Heat, or the VNF package
        LOG.warning("VNF %s: %s: %s", vnf_instance_id, UNCHECKED, text_of(error))
        return
    with operation:
        operation.check_unlocked()
