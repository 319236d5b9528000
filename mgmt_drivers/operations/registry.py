"""The private registry: instantiate the VNF, and heal its machines."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from mgmt_drivers import inventory
from mgmt_drivers.engine.operation import Operation
from mgmt_drivers.engine.phase import on
from mgmt_drivers.engine.services import Services, Store
from mgmt_drivers.errors import ParameterError
from mgmt_drivers.inventory import Node
from mgmt_drivers.operations.terminate import check_machines
from mgmt_drivers.registry.bundles import ServePackages, UnpackBundles, WaitForPackages
from mgmt_drivers.registry.provide_image import ProvideImage
from mgmt_drivers.registry.registry_params import (
    BUNDLES,
    NAME,
    PrivateRegistryParams,
    read_modification,
    read_params,
)
from mgmt_drivers.registry.run_registry import RunRegistry, WaitForRegistry
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.setup.configure_proxy import ConfigureProxy
from mgmt_drivers.setup.install_docker import InstallDocker
from mgmt_drivers.setup.preflight import CheckPlatform, WaitForCloudInit
from mgmt_drivers.ssh.connection import Endpoint


def instantiate(request: LcmRequest, services: Services) -> None:
    """Make the VNF's machines registries.

    A heal does the same: each phase looks whether its machine is new or was kept.
    """
    params = read_params(_with_bundles(request, services.store))
    with _open(request, services, params) as operation:
        hosts = operation.connect(operation.machines)
        operation.run(
            params,
            on(hosts, WaitForCloudInit(), CheckPlatform()),
            on(hosts if params.proxy else [], ConfigureProxy(params.proxy, ("docker",))),
            on(hosts if params.bundles else [], UnpackBundles()),
            on(hosts, InstallDocker(), ProvideImage(), RunRegistry(), WaitForRegistry()),
            on(hosts if params.bundles else [], ServePackages(), WaitForPackages()),
        )


def validate_modification(request: LcmRequest, store: Store, modification: Any) -> LcmRequest:
    """Check a modification without asking any machine; returns the request with its bundles.

    :param modification: the parameter ``private_registry_modification_param``
    :raises ParameterError: with every error
    """
    new = read_modification(modification, request)
    if not read_params(request).bundles:  # then its security group lets nobody in to packages
        raise ParameterError([f"{NAME}.{BUNDLES}: missing: instantiate a registry with a bundle"])
    modified = _with_bundles(request, store, new)
    read_params(modified)
    return modified


def add_bundles(request: LcmRequest, services: Services, modification: Any) -> None:
    """Add bundles to a registry; :raises MgmtDriverError: naming the cause; a retry goes on."""
    modified = validate_modification(request, services.store, modification)
    instantiate(modified, services)
    services.store.save_secret(BUNDLES, modified.additional_params[NAME][BUNDLES])


def _with_bundles(request: LcmRequest, store: Store, new: Sequence[Any] = ()) -> LcmRequest:
    """The request with the bundles of modifications, each once."""
    params = request.additional_params
    own, added = params.get(NAME), [*store.load(BUNDLES, []), *new]
    if not added or not isinstance(own, dict):
        return request
    first = own.get(BUNDLES) or []
    others = [bundle for n, bundle in enumerate(added) if bundle not in [*first, *added[:n]]]
    return replace(request, additional_params={**params, NAME: {**own, BUNDLES: [*first, *others]}})


def check_unlocked(
    vnf_instance_id: str, services: Services, make_request: Callable[[], LcmRequest]
) -> None:
    """Check the VNF's machines as :func:`check_machines` does."""

    def prepare() -> Operation:
        request = make_request()
        return _open(request, services, read_params(request))

    check_machines(vnf_instance_id, services, prepare)


def _open(request: LcmRequest, services: Services, params: PrivateRegistryParams) -> Operation:
    machines = inventory.read(request, services.stacks).nodes

    def endpoint(node: Node) -> Endpoint:
        return Endpoint(
            address=node.address(params.ssh_cp_name),
            username=params.ssh_username,
            password=params.ssh_password,
            server_id=node.server_id,
            host_keys=params.host_keys,
        )

    return Operation(request, services, machines, endpoint, params.secrets())
