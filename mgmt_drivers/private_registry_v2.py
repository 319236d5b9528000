"""The script of the private registry VNF for Tacker's v2 API."""

from typing import Any

from mgmt_drivers.errors import ParameterError
from mgmt_drivers.operations import registry
from mgmt_drivers.registry.registry_params import MODIFICATION, read_params
from mgmt_drivers.tacker.v2 import Call
from mgmt_drivers.tacker.v2_process import run


def instantiate_start(call: Call) -> None:
    read_params(call.lcm_request("instantiate"))


def instantiate_end(call: Call) -> None:
    registry.instantiate(call.lcm_request("instantiate"), call.services)


def terminate_start(call: Call) -> None:
    registry.check_unlocked(
        call.instance["id"], call.services, lambda: call.lcm_request("terminate")
    )


def terminate_end(call: Call) -> None:
    call.forget()


def heal_end(call: Call) -> None:
    registry.instantiate(call.lcm_request("heal"), call.services)


def modify_information_start(call: Call) -> None:
    if modification := _modification(call):
        registry.validate_modification(call.lcm_request("modify"), call.store, modification)


def modify_information_end(call: Call) -> None:
    if modification := _modification(call):
        registry.add_bundles(call.lcm_request("modify"), call.services, modification)
        call.store.remove(MODIFICATION)


def change_current_package_start(call: Call) -> None:
    if call.request["additionalParams"].get("vdu_params"):
        raise ParameterError([
            "vdu_params: must be empty: a change of the package replaces no registry, whose images "
            "would be lost. End the operation by fail, and send it with an empty list to get the "
            "package's drivers; heal the VNFC to get another machine"
        ])


def _modification(call: Call) -> Any:
    return (call.request.get("metadata") or {}).get(MODIFICATION)


if __name__ == "__main__":
    run(globals())
