"""The script of the private registry VNF for Tacker's v2 API."""

from mgmt_drivers.operations import registry
from mgmt_drivers.tacker.v2 import Call
from mgmt_drivers.tacker.v2_process import run


def instantiate_start(call: Call) -> None:
    registry.validate(call.lcm_request("instantiate"))


def instantiate_end(call: Call) -> None:
    registry.instantiate(call.lcm_request("instantiate"), call.services)


def terminate_start(call: Call) -> None:
    registry.check_unlocked(call.lcm_request("terminate"), call.services)


def terminate_end(call: Call) -> None:
    call.forget()


def heal_end(call: Call) -> None:
    registry.instantiate(call.lcm_request("heal"), call.services)


if __name__ == "__main__":
    hooks = (instantiate_start, instantiate_end, terminate_start, terminate_end, heal_end)
    run({hook.__name__: hook for hook in hooks})
