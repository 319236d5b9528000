"""The private registry: instantiate the VNF, and heal its machines."""

from collections.abc import Sequence

from mgmt_drivers import inventory
from mgmt_drivers.engine.operation import Operation
from mgmt_drivers.engine.phase import on
from mgmt_drivers.engine.services import Services
from mgmt_drivers.inventory import Node
from mgmt_drivers.operations.terminate import check_machines
from mgmt_drivers.registry.provide_image import ProvideImage
from mgmt_drivers.registry.registry_params import PrivateRegistryParams, read_params
from mgmt_drivers.registry.run_registry import RunRegistry, WaitForRegistry
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.setup.configure_proxy import ConfigureProxy
from mgmt_drivers.setup.install_docker import InstallDocker
from mgmt_drivers.setup.preflight import CheckPlatform, WaitForCloudInit
from mgmt_drivers.ssh.connection import Endpoint


def validate(request: LcmRequest) -> None:
    """Check the request before any machine exists.

    :raises ParameterError: with every error
    """
    read_params(request)


def instantiate(request: LcmRequest, services: Services) -> None:
    """Make the VNF's machines registries.

    A heal does the same: each phase looks whether its machine is new or was kept.

    :raises MgmtDriverError: naming machine, phase and cause
    """
    params = read_params(request)
    operation, machines = _open(request, services, params)
    with operation:
        hosts = operation.connect(machines)
        operation.run(
            params,
            on(hosts, WaitForCloudInit(), CheckPlatform()),
            on(hosts if params.proxy else [], ConfigureProxy(params.proxy, ("docker",))),
            on(hosts, InstallDocker(), ProvideImage(), RunRegistry(), WaitForRegistry()),
        )


def check_unlocked(request: LcmRequest, services: Services) -> None:
    """Check the VNF's machines as :func:`check_machines` does."""
    check_machines(request, services, lambda: _open(request, services, read_params(request)))


def _open(
    request: LcmRequest, services: Services, params: PrivateRegistryParams
) -> tuple[Operation, Sequence[Node]]:
    """Return the operation and the VNF's machines."""
    machines = inventory.read(request, services.stacks).nodes

    def endpoint(node: Node) -> Endpoint:
        return Endpoint(
            address=node.address(params.ssh_cp_name),
            username=params.ssh_username,
            password=params.ssh_password,
            server_id=node.server_id,
            host_keys=params.host_keys,
        )

    return Operation(request, services, machines, endpoint, params.secrets()), machines
