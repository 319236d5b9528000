"""Registration of servers with the operator's Server Notifier, by Tacker's own code.

The notifier tells Tacker of a server that has died, and Tacker heals the server's VNFC.
"""

import logging

from keystoneauth1.exceptions import ClientException
from tacker.common.exceptions import TackerException
from tacker.sol_refactored.mgmt_drivers.server_notification import ServerNotificationMgmtDriver

from mgmt_drivers.errors import ServiceFailed, text_of
from mgmt_drivers.tacker.v2 import Call

LOG = logging.getLogger(__name__)


def register(call: Call) -> None:
    """Register and unregister servers as Tacker's driver of the same hook does.

    Only an instantiation fails if the notifier does: a heal must not. The next operation registers
    all servers that are not registered.

    :raises MgmtDriverError: the notifier did not register the servers of a new VNF
    """
    try:
        driver = ServerNotificationMgmtDriver(
            call.request, call.instance, call.grant_request, call.grant, str(call.package),
            call.store.memory,
        )
        getattr(driver, call.operation)()
    except (TackerException, ClientException) as error:
        text = f"ServerNotifierUri: the notifier failed: {text_of(error)}"
        if call.operation == "instantiate_end":
            raise ServiceFailed(text) from error
        LOG.warning("%s; registrations of VNF %s are incomplete", text, call.instance["id"])
