"""The scaling of a stack by a hook, if the request names no UserData.

Tacker's own UserData scales only groups of Heat that take a number of machines; the packages'
stacks have a resource for each machine. Requests of Tacker's monitoring name no UserData.
"""

from tacker.sol_refactored import objects
from tacker.sol_refactored.common import config
from tacker.sol_refactored.common.exceptions import SolException
from tacker.sol_refactored.common.vnfd_utils import Vnfd
from tacker.sol_refactored.infra_drivers.openstack import openstack

from mgmt_drivers.errors import MgmtDriverError, printable
from mgmt_drivers.tacker.v2 import USER_DATA, Call


def scale(call: Call, method: str = "scale") -> None:
    """Scale the stack as Tacker's OpenStack driver does with the package's UserData.

    The instance stays as it is: Tacker updates the stack again, with nothing, and then lists the
    machines.

    :param method: of Tacker's driver; ``scale_rollback`` removes the machines of a failed scale-out
    :raises MgmtDriverError: Heat refused the update, or failed
    """
    config.CONF(args=[], project="tacker")
    objects.register_all()
    params = {**(call.request.get("additionalParams") or {}), **USER_DATA}
    request = objects.ScaleVnfRequest.from_dict({**call.request, "additionalParams": params})
    instance = objects.VnfInstanceV2.from_dict(call.instance)
    grant_request = objects.GrantRequestV1.from_dict(call.grant_request)
    grant = objects.GrantV1.from_dict(call.grant)
    definition = Vnfd(instance.vnfdId)
    definition.init_from_csar_dir(str(call.package))
    try:
        run = getattr(openstack.Openstack(), method)
        run(request, instance, grant_request, grant, definition)
    except SolException as error:
        text = f"the stack of VNF {instance.id} could not be scaled: {printable(str(error.detail))}"
        raise MgmtDriverError(text) from error
