"""The private registry driver, free of Tacker: request in, machines changed."""

from mgmt_drivers import inventory
from mgmt_drivers.engine.operation import Operation
from mgmt_drivers.engine.services import Services
from mgmt_drivers.inventory import Node
from mgmt_drivers.params.private_registry import read_params
from mgmt_drivers.phases.registry.vnf import RegistryVnf
from mgmt_drivers.plans import private_registry as plans
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.ssh.connection import Endpoint


def validate(request: LcmRequest) -> None:
    """Check the request before anything exists.

    :raises ParameterError: with every error
    """
    read_params(request)


def instantiate(request: LcmRequest, services: Services) -> None:
    """Make the VNF's machines registries, or those that were healed registries again.

    :raises MgmtDriverError: naming machine, phase and cause
    """
    params = read_params(request)
    machines = inventory.read(request, services.stacks).nodes

    def endpoint(node: Node) -> Endpoint:
        return Endpoint(
            address=node.address(params.ssh_cp_name),
            username=params.ssh_username,
            password=params.ssh_password,
            server_id=node.server_id,
            host_keys=params.host_keys,
        )

    with Operation(request, services, machines, endpoint, params.secrets()) as operation:
        vnf = RegistryVnf(params, operation.connect(machines))
        operation.run(plans.INSTANTIATE, vnf)
