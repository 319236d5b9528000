"""The Kubernetes cluster driver, free of Tacker: request in, machines changed, a VIM out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mgmt_drivers import inventory
from mgmt_drivers.driver import Surroundings, carry_out
from mgmt_drivers.errors import ParameterError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube.cluster import Cluster, VimAccount, group_of, topology
from mgmt_drivers.params.kubernetes import NAME, KubernetesParams, read_params
from mgmt_drivers.plans import kubernetes as plans
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.ssh.connection import Endpoint


@dataclass(frozen=True)
class Vim:
    """A cluster as it is to be registered in Tacker."""

    name: str
    account: VimAccount


def validate(request: LcmRequest, is_vim_name_taken: Callable[[str], bool]) -> None:
    """Check the request before anything exists.

    :param is_vim_name_taken: whether Tacker has a VIM of that name which is not this VNF's
    :raises ParameterError: with every fault
    """
    params = read_params(request)
    name = _vim_name(params, request)
    if is_vim_name_taken(name):
        raise ParameterError([f"{NAME}.vim_name: Tacker already has a VIM {name}; choose another"])


def instantiate(request: LcmRequest, surroundings: Surroundings) -> Vim:
    """Make the VNF's machines a cluster.

    :returns: the VIM that is to be registered
    :raises MgmtDriverError: naming machine, phase and cause
    """
    params = read_params(request)
    assert request.vim
    found = topology(params, inventory.read(request, inventory.Heat(request.vim)))

    def endpoint(node: inventory.Node) -> Endpoint:
        group = group_of(node, params)
        return Endpoint(
            address=node.address(group.ssh_cp_name),
            username=group.username,
            password=group.password,
            private_key=group.private_key,
            server_id=node.server_id,
        )

    def context(hosts: Sequence[Host]) -> Cluster:
        return Cluster(params, found, hosts)

    cluster = carry_out(
        request,
        plans.INSTANTIATE,
        found.nodes,
        surroundings,
        context=context,
        endpoint=endpoint,
        secrets=params.secrets(),
    )
    assert cluster.account
    return Vim(_vim_name(params, request), cluster.account)


def _vim_name(params: KubernetesParams, request: LcmRequest) -> str:
    return params.vim_name or f"kubernetes_vim_{request.vnf_instance_id}"
