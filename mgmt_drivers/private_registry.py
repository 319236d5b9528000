"""The private registry driver, free of Tacker: request in, machines changed."""

from collections.abc import Callable
from pathlib import Path

from mgmt_drivers import inventory
from mgmt_drivers.operation import Operation
from mgmt_drivers.params.private_registry import PrivateRegistryParams, read_params
from mgmt_drivers.plans import private_registry as plans
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.secret import Masker
from mgmt_drivers.ssh.connection import Endpoint, connect
from mgmt_drivers.ssh.hostkeys import HostKeys
from mgmt_drivers.ssh.session import Session
from mgmt_drivers.trace import Trace

HostKeySaver = Callable[[dict[str, str]], None]


def validate(request: LcmRequest) -> None:
    """Check the request before anything exists.

    :raises ParameterError: with every fault
    """
    read_params(request)


def instantiate(request: LcmRequest, trace_folder: Path | None, save: HostKeySaver) -> None:
    """Make the VNF's machines registries.

    :param save: is given the host keys of the machines, also when this fails
    :raises MgmtDriverError: naming machine, phase and cause
    """
    _carry_out(request, plans.INSTANTIATE, trace_folder, save)


def heal(request: LcmRequest, trace_folder: Path | None, save: HostKeySaver) -> None:
    """Make the healed machines registries again; parameters as for :func:`instantiate`."""
    _carry_out(request, plans.HEAL, trace_folder, save)


def _carry_out(
    request: LcmRequest, plan: plans.Plan, trace_folder: Path | None, save: HostKeySaver
) -> None:
    params = read_params(request)
    assert request.vim
    nodes = inventory.read(request, inventory.Heat(request.vim))
    host_keys = HostKeys(request.host_keys)
    host_keys.keep_only({node.server_id for node in nodes})
    operation = Operation(
        name=request.operation,
        vnf_instance_id=request.vnf_instance_id,
        params=params,
        connect=_connector(params, host_keys),
        trace=Trace(trace_folder),
    )
    try:
        operation.carry_out(plan, nodes)
    finally:
        save(host_keys.as_dict())


def _connector(
    params: PrivateRegistryParams, host_keys: HostKeys
) -> Callable[[inventory.Node], Session]:
    masker = Masker(params.secrets())

    def open_session(node: inventory.Node) -> Session:
        endpoint = Endpoint(
            address=node.address(params.ssh_cp_name),
            username=params.ssh_username,
            password=params.ssh_password,
            server_id=node.server_id,
        )
        return connect(endpoint, host_keys, masker)

    return open_session
