"""The private registry driver, free of Tacker: request in, machines changed."""

from mgmt_drivers import inventory
from mgmt_drivers.driver import Surroundings, carry_out
from mgmt_drivers.operation import Crew
from mgmt_drivers.params.private_registry import read_params
from mgmt_drivers.plans import private_registry as plans
from mgmt_drivers.plans.plan import Plan
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.ssh.connection import Endpoint


def validate(request: LcmRequest) -> None:
    """Check the request before anything exists.

    :raises ParameterError: with every fault
    """
    read_params(request)


def instantiate(request: LcmRequest, surroundings: Surroundings) -> None:
    """Make the VNF's machines registries.

    :raises MgmtDriverError: naming machine, phase and cause
    """
    _carry_out(request, plans.INSTANTIATE, surroundings)


def heal(request: LcmRequest, surroundings: Surroundings) -> None:
    """Make the healed machines registries again."""
    _carry_out(request, plans.HEAL, surroundings)


def _carry_out(request: LcmRequest, plan: Plan, surroundings: Surroundings) -> None:
    params = read_params(request)
    assert request.vim

    def endpoint(node: inventory.Node) -> Endpoint:
        return Endpoint(
            address=node.address(params.ssh_cp_name),
            username=params.ssh_username,
            password=params.ssh_password,
            server_id=node.server_id,
        )

    carry_out(
        request,
        plan,
        Crew(required=inventory.read(request, inventory.Heat(request.vim)).nodes),
        surroundings,
        context=lambda hosts: params,
        endpoint=endpoint,
        secrets=params.secrets(),
    )
