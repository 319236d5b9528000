"""Runs the operations in a dry run, as Tacker's hooks do."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mgmt_drivers import inventory
from mgmt_drivers.cluster.access.service_account import Credentials
from mgmt_drivers.engine.dry_run import DryRun, Line
from mgmt_drivers.engine.operation import RUNNING_LIMIT
from mgmt_drivers.engine.services import Services, Store
from mgmt_drivers.inventory import Contents, Node
from mgmt_drivers.operations import heal, instantiate, modify, registry, scale_in, scale_out
from mgmt_drivers.registry.registry_params import NAME as REGISTRY
from mgmt_drivers.registry.registry_params import read_params
from mgmt_drivers.request import LcmRequest, Vnfc
from mgmt_drivers.ssh.connection import Endpoint
from mgmt_drivers.ssh.session import Session
from mgmt_drivers.vim import HelmAccess, Vim
from tools.dry_run import new_machines


@dataclass(frozen=True)
class Result:
    """The prediction of an operation.

    ``lines`` are the predictions of the phases, in their order; ``runs`` is the number of hooks
    that log in to machines and run phases. ``before`` and ``after`` are the machines.
    """

    operation: str
    vnf: str
    lines: Sequence[Line] = ()
    runs: int = 1
    before: Sequence[Node] = ()
    after: Sequence[Node] = ()


class ForgetfulStore:
    """The store of a VNF instance, whose changes are discarded at the end."""

    def __init__(self, kept: Store) -> None:
        self._kept = kept
        self._saved: dict[str, Any] = {}

    def load(self, key: str, default: Any) -> Any:
        return self._saved[key] if key in self._saved else self._kept.load(key, default)

    def save(self, key: str, value: Any) -> None:
        self._saved[key] = value

    save_secret = save


class _Vims:
    """The VIMs in Tacker, which are not changed."""

    log_in_for_helm = False  # the machines may not exist yet

    def __init__(self, is_taken: Callable[[str], bool]) -> None:
        self._is_taken = is_taken

    def is_taken(self, name: str) -> bool:
        return self._is_taken(name)

    def register(self, vim: Vim) -> None:
        """Do nothing: a dry run has no cluster to register."""

    def move_helm(self, access: HelmAccess) -> None:
        """Do nothing: the VIM is not changed."""

    def renew(self, credentials: Credentials) -> None:
        """Do nothing: the VIM is not changed."""

    def unregister(self) -> None:
        """Do nothing: the VIM stays registered."""


def _is_never_taken(name: str) -> bool:
    return False


class Vnf:
    """A VNF in its current state, for the dry run of one operation.

    :param request: the request with package, parameters, and the existing VNFCs
    :param given: the services, which are not changed
    :param is_taken: whether another VIM than this VNF's has a name
    """

    def __init__(
        self,
        request: LcmRequest,
        given: Services,
        is_taken: Callable[[str], bool] = _is_never_taken,
    ) -> None:
        self.request, self.dry_run = request, DryRun()
        self._vims = _Vims(is_taken)
        self._given = replace(
            given,
            store=ForgetfulStore(given.store),
            trace_folder=None,
            ssh_timeout=RUNNING_LIMIT,  # no machine is booting: new machines do not exist yet
            dry_run=self.dry_run,
        )

    @property
    def _is_registry(self) -> bool:
        return REGISTRY in self.request.additional_params

    def validate(self) -> None:
        """Check the request to instantiate the VNF.

        :raises ParameterError: with every error
        """
        request = replace(self.request, operation="instantiate")
        if self._is_registry:
            read_params(request)
        else:
            instantiate.validate(request, self._vims)

    def instantiate(self, numbers: Mapping[str, int]) -> Result:
        """:param numbers: number of machines, by VDU"""
        request = replace(self.request, operation="instantiate", stack_id=new_machines.STACK)
        new = new_machines.vnfcs(numbers)
        made = new_machines.stacks_of(request, new, ())
        made[new_machines.STACK] = new_machines.own_stack(request)
        services = self._services(made)
        request = replace(request, vnfcs=tuple(new))
        self._set_up(request, services)
        return self._result(request, services, before=())

    def scale_out(self, numbers: Mapping[str, int]) -> Result:
        """:param numbers: number of new machines, by VDU"""
        before = self._machines()
        new = new_machines.vnfcs(numbers)
        request = replace(
            self.request,
            operation="scale out",
            vnfcs=(*self.request.vnfcs, *new),
            targets=frozenset(vnfc.id for vnfc in new),
        )
        services = self._services(new_machines.stacks_of(request, new, before))
        scale_out.scale_out(request, services, self._vims)
        return self._result(request, services, before)

    def scale_in(self, targets: Collection[str]) -> Result:
        """:param targets: ids of the VNFCs to remove"""
        request = replace(self.request, operation="scale in", targets=frozenset(targets))
        scale_in.scale_in(request, self._services(), self._vims)
        before = self._machines()
        after = [node for node in before if node.vnfc_id not in targets]
        return replace(self._result(request, self._services(), before), after=after)

    def heal(self, targets: Collection[str]) -> Result:
        """:param targets: ids of the VNFCs whose machines are replaced; empty for all VNFCs"""
        before = self._machines()
        request = replace(self.request, operation="heal", targets=frozenset(targets))
        if not self._is_registry:
            heal.heal_start(request, self._services(), self._vims)
        replaced = [v for v in self._as_heat_has_them(before) if not targets or v.id in targets]
        new = new_machines.renewed(replaced)
        vnfcs = tuple(new.get(v.server_id, v) for v in self._as_heat_has_them(before))
        request = replace(request, vnfcs=vnfcs)
        services = self._services({}, {old: vnfc.server_id for old, vnfc in new.items()})
        if self._is_registry:
            registry.instantiate(request, services)
        else:
            heal.heal_end(request, services, self._vims)
        runs = 2 if targets and not self._is_registry else 1
        return replace(self._result(request, services, before), runs=runs)

    def modify(self, modification: Any) -> Result:
        """:param modification: the parameter ``k8s_cluster_modification_param``, if given"""
        request = replace(self.request, operation="upgrade")
        services = self._services()
        if modification:
            modify.modify(request, services, self._vims, modification)
        return self._result(request, services, self._machines())

    def change_package(self, modification: Any) -> Result:
        """:param modification: as of :meth:`modify`; of the request, or of the new package"""
        if not modification and not self._is_registry:
            modify.check_package(replace(self.request, operation="upgrade"), self._services().store)
        return self.modify(modification)

    def terminate(self) -> Result:
        """Remove all machines: Heat deletes them, and the drivers change nothing on them."""
        request = replace(self.request, operation="terminate")
        return replace(self._result(request, self._services(), self._machines()), after=())

    def _set_up(self, request: LcmRequest, services: Services) -> None:
        if self._is_registry:
            registry.instantiate(request, services)
        else:
            instantiate.instantiate(request, services, self._vims)

    def _as_heat_has_them(self, machines: Sequence[Node]) -> list[Vnfc]:
        """The VNFCs, each with its server in Heat, which Tacker may not know yet."""
        servers = {node.vnfc_id: node.server_id for node in machines}
        return [replace(v, server_id=servers.get(v.id, v.server_id)) for v in self.request.vnfcs]

    def _machines(self) -> Sequence[Node]:
        return inventory.read(self.request, self._given.stacks).nodes

    def _services(
        self,
        made: Mapping[str, Contents] | None = None,
        renewed: Mapping[str, str] | None = None,
    ) -> Services:
        def connect(endpoint: Endpoint, *rest: Any) -> Session:
            if new_machines.is_new(endpoint.server_id):
                return new_machines.NotMadeSession()
            return self._given.connect(endpoint, *rest)

        stacks = new_machines.ComingStacks(self._given.stacks, made or {}, renewed)
        return replace(self._given, stacks=stacks, connect=connect)

    def _result(
        self, request: LcmRequest, services: Services, before: Sequence[Node]
    ) -> Result:
        after = inventory.read(request, services.stacks).nodes
        return Result(
            self.dry_run.operation or request.operation,
            request.vnf_instance_id,
            self.dry_run.lines,
            before=before,
            after=after,
        )
