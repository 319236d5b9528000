"""Changes of a stack by a hook, made by Tacker's driver of OpenStack.

Scaling: Tacker's own UserData, which it takes if a request names none, as those of Tacker's
monitoring, scales only groups of Heat that take a number of machines; the packages' stacks have a
resource for each machine.

Replacement of a machine, by which a change of the VNF package gives the machine another image or
flavor: Tacker itself replaces one machine after another, and calls no hook in between.
"""

import json
from collections.abc import Mapping
from typing import Any

from tacker.sol_refactored import objects
from tacker.sol_refactored.common import common_script_utils, config
from tacker.sol_refactored.common import vnf_instance_utils as inst_utils
from tacker.sol_refactored.common.exceptions import SolException
from tacker.sol_refactored.common.vnfd_utils import Vnfd
from tacker.sol_refactored.infra_drivers.openstack import heat_utils, openstack

from mgmt_drivers.errors import ServiceFailed, printable
from mgmt_drivers.tacker.v2 import USER_DATA, Call


def scale(call: Call, method: str) -> None:
    """Scale the stack as Tacker's OpenStack driver does with the package's UserData.

    The instance stays as it is: Tacker updates the stack again, with nothing, and then lists the
    machines.

    :param method: of Tacker's driver; ``scale_rollback`` removes the machines of a failed scale-out
    :raises ServiceFailed: Heat refused the update, or failed
    """
    params = {**(call.request.get("additionalParams") or {}), **USER_DATA}
    request = {**call.request, "additionalParams": params}
    _run(call, openstack.Openstack(), method, "ScaleVnfRequest", request)


def values_of_package(call: Call, vdu: str) -> dict[str, str]:
    """The image and the flavor of a VDU's new machines, as a part of the parameter nfv.

    The grant has precedence over the VNFD, as in Tacker's UserData.
    """
    definition = _definition(call)
    flavour = call.info["flavourId"]
    found = {
        "vcImageId": common_script_utils.get_param_image(vdu, flavour, definition, call.grant),
        "computeFlavourId": common_script_utils.get_param_flavor(
            vdu, flavour, definition, call.grant
        ),
    }
    return {key: value for key, value in found.items() if value}


def replace_machine(call: Call, values: Mapping[str, Mapping[str, str]]) -> None:
    """Let Heat replace the machine of a heal; the instance then has the new one.

    :param call: the call of a heal of one VNFC
    :param values: by VNFC, the part of the parameter nfv that changes
    :raises ServiceFailed: Heat refused the update, or failed
    """
    instance = _run(call, _WithValues(values), "heal", "HealVnfRequest", call.request)
    call.instance["instantiatedVnfInfo"] = instance.to_dict()["instantiatedVnfInfo"]


def read_values(call: Call) -> dict[str, dict[str, Any]]:
    """Read what the stack's parameter nfv has of each machine; the instance may have older values.

    :raises ServiceFailed: Heat does not show the stack
    """
    instance = _instance(call)
    try:
        heat = heat_utils.HeatClient(inst_utils.select_vim_info(instance.vimConnectionInfo))
        parameters = heat.get_parameters(heat_utils.get_stack_name(instance))
    except SolException as error:
        text = f"the stack of VNF {instance.id} could not be read: {printable(str(error.detail))}"
        raise ServiceFailed(text) from error
    return json.loads(parameters["nfv"])["VDU"]


class _WithValues(openstack.Openstack):
    """Tacker's driver, with given values of nfv in the place of what UserData says.

    Tacker's UserData would put all machines of the VNF back to what Tacker knows of the images.
    """

    def __init__(self, values: Mapping[str, Mapping[str, str]]) -> None:
        super().__init__()
        self._values = values

    def _make_hot(self, *_: Any) -> dict[str, Any]:
        limit = config.CONF.v2_vnfm.openstack_vim_stack_create_timeout
        return {"parameters": {"nfv": {"VDU": self._values}}, "timeout_mins": limit}


def _run(call: Call, driver: Any, method: str, kind: str, request: Mapping[str, Any]) -> Any:
    """Run a method of Tacker's driver; returns the instance, which the method may change.

    :param kind: the class of the request
    """
    instance = _instance(call)
    asked = getattr(objects, kind).from_dict(request)
    grant_request = objects.GrantRequestV1.from_dict(call.grant_request)
    grant = objects.GrantV1.from_dict(call.grant)
    try:
        getattr(driver, method)(asked, instance, grant_request, grant, _definition(call))
    except SolException as error:
        reason = printable(str(error.detail))
        text = f"the stack of VNF {instance.id} could not be changed: {reason}"
        raise ServiceFailed(text) from error
    return instance


def _instance(call: Call) -> Any:
    config.CONF(args=[], project="tacker")
    objects.register_all()
    return objects.VnfInstanceV2.from_dict(call.instance)


def _definition(call: Call) -> Vnfd:
    definition = Vnfd(call.instance["vnfdId"])
    definition.init_from_csar_dir(str(call.package))
    return definition
