"""The Kubernetes cluster driver, free of Tacker: request in, machines changed, a VIM out."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from mgmt_drivers import inventory
from mgmt_drivers.driver import Surroundings, carry_out, check_made
from mgmt_drivers.errors import InventoryError, MgmtDriverError, ParameterError
from mgmt_drivers.host.host import Host
from mgmt_drivers.inventory import Node
from mgmt_drivers.kube import kubeadm, readiness
from mgmt_drivers.kube.cluster import (
    Cluster,
    Marks,
    Topology,
    VimAccount,
    check_networks,
    group_of,
    topology,
)
from mgmt_drivers.operation import Crew
from mgmt_drivers.package import has_server_group
from mgmt_drivers.params.kubernetes import NAME, KubernetesParams, read_params
from mgmt_drivers.plans import kubernetes as plans
from mgmt_drivers.plans.plan import Plan
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.ssh.connection import Endpoint

LOG = logging.getLogger(__name__)

SavedMarks = Mapping[str, Mapping[str, Any]]  # by VNFC, the fields of Marks


@dataclass(frozen=True)
class Vim:
    """A cluster as it is to be registered in Tacker."""

    name: str
    account: VimAccount


class Refused(MgmtDriverError):
    """The operation makes no sense for this cluster; nothing was changed."""


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
    """Make the VNF's machines a cluster; also how a whole cluster is healed.

    :returns: the VIM that is to be registered
    :raises MgmtDriverError: naming machine, phase and cause
    """
    work = _Work.read(request, surroundings)
    check_networks(work.params, work.topology)
    machines = work.topology.machines
    cluster = work.carry_out(plans.INSTANTIATE, Crew(required=machines), coming=machines)
    assert cluster.account
    return Vim(_vim_name(work.params, request), cluster.account)


def scale_out(request: LcmRequest, surroundings: Surroundings) -> None:
    """Join the workers that have come: the request's targets.

    One that fails leaves nothing of them in the cluster, ready to be tried
    again or to be taken away.
    """
    work = _Work.read(request, surroundings)
    new = work.workers
    try:
        crew = work.with_a_master(required=new)
        work.carry_out(plans.SCALE_OUT, crew, coming=new)
    except MgmtDriverError:
        try:
            work.carry_out(plans.UNDO_SCALE_OUT, work.with_a_master(), going=new)
        except MgmtDriverError as error:
            LOG.warning("nodes of the failed scale-out may be left: %s", error)
        raise


def roll_back_scale_out(request: LcmRequest, surroundings: Surroundings) -> None:
    """Remove nodes that are no machines of the VNF any more, or never became any."""
    work = _Work.read(request, surroundings)
    work.carry_out(plans.ROLL_BACK_SCALE_OUT, work.with_a_master())


def scale_in(request: LcmRequest, surroundings: Surroundings) -> None:
    """Evacuate and remove the workers that are about to go: the request's targets.

    Those whose machines Heat has deleted, before an attempt failed, are left alone: they were
    removed then.
    """
    work = _Work.read(request, surroundings)
    there = {node.vnfc_id for node in work.topology.machines}
    gone = {vnfc.id for vnfc in request.vnfcs} - there
    if request.targets and request.targets <= gone:
        return
    work = replace(work, request=replace(request, targets=request.targets - gone))
    work.carry_out(plans.SCALE_IN, work.with_a_master(), going=work.workers)


def heal_start(
    request: LcmRequest,
    surroundings: Surroundings,
    saved: SavedMarks,
    save_marks: Callable[[SavedMarks], None],
) -> None:
    """Take the request's targets out of the cluster, before their machines are replaced.

    :param saved: what attempts before this one saved
    :param save_marks: is given labels and taints of the nodes that were lost, by
        VNFC, for :func:`heal_end`; also when the operation fails
    :raises MgmtDriverError: where the cluster would not outlive it, with nothing changed
    """
    work = _Work.read(request, surroundings)
    going = work.targets
    lost = [node for node in going if node in work.topology.masters]
    stay = [node for node in work.topology.masters if node not in going]
    if not stay:
        raise Refused(
            "no master of the cluster would be left. Heal the whole VNF (a request without "
            "vnfcInstanceId), which makes a new cluster"
        )
    # With an API that is not ready etcd can still tell why no master may go.
    checks = [readiness.check_master, kubeadm.check_member] if lost else [readiness.check_master]
    crew = work.with_a_master(optional=[*stay, *lost] if lost else (), checks=checks)
    marks = {vnfc: Marks(**mark) for vnfc, mark in saved.items()}
    try:
        work.carry_out(plans.HEAL_START, crew, going=going, marks=marks)
    finally:
        if marks:
            save_marks({vnfc: asdict(found) for vnfc, found in marks.items()})


def heal_end(request: LcmRequest, surroundings: Surroundings, saved: SavedMarks) -> None:
    """Join the machines that came in the place of the request's targets.

    :param saved: what :func:`heal_start` saved
    """
    work = _Work.read(request, surroundings)
    coming = work.targets
    masters = work.topology.masters
    others = [node for node in masters if node not in coming]
    has_master = len(others) < len(masters)
    crew = work.with_a_master(required=coming, optional=others if has_master else ())
    marks = {vnfc: Marks(**mark) for vnfc, mark in saved.items()}
    work.carry_out(plans.HEAL_END, crew, coming=coming, marks=marks)


@dataclass(frozen=True)
class _Work:
    """What every operation begins with."""

    request: LcmRequest
    surroundings: Surroundings
    params: KubernetesParams
    topology: Topology

    @classmethod
    def read(cls, request: LcmRequest, surroundings: Surroundings) -> "_Work":
        params = read_params(request)
        assert request.vim
        spread = has_server_group(request.package, request.flavour)
        machines = inventory.read(request, inventory.Heat(request.vim), placed=spread)
        return cls(request, surroundings, params, topology(params, machines, spread))

    @property
    def targets(self) -> list[Node]:
        """The machines that the request is about, masters first, the storage server last."""
        if not self.request.targets:
            raise InventoryError(
                "Tacker has found no machine that came. It may have looked before Heat began: give "
                "Heat longer (tacker.conf, [openstack_vim] stack_retry_wait)"
            )
        found = [node for node in self.topology.machines if node.vnfc_id in self.request.targets]
        lacking = set(self.request.targets) - {node.vnfc_id for node in found}
        if lacking:
            raise InventoryError(f"the VNF has not the VNFCs {sorted(lacking)} of the request")
        return found

    @property
    def workers(self) -> list[Node]:
        """The targets of scaling, which are workers."""
        found = self.targets
        if any(node not in self.topology.workers for node in found):
            raise Refused(
                "only workers can be scaled: the number of masters is the size of etcd, which is "
                "settled when the VNF is instantiated. Scale the workers, or instantiate another "
                "VNF"
            )
        return found

    def with_a_master(
        self,
        required: Sequence[Node] = (),
        optional: Sequence[Node] = (),
        checks: Sequence[Callable[[Host], None]] = (readiness.check_master,),
    ) -> Crew:
        """These machines, and a master of the cluster that is not a target."""
        targets = self.targets if self.request.targets else []
        return Crew(
            required=required,
            optional=optional,
            any_of=[node for node in self.topology.masters if node not in targets],
            checks=checks,
        )

    def carry_out(
        self,
        plan: Plan,
        crew: Crew,
        coming: Sequence[Node] = (),
        going: Sequence[Node] = (),
        marks: dict[str, Marks] | None = None,
    ) -> Cluster:
        """Carry a plan out for machines that have come, or are about to go."""
        storage = self.topology.storage
        if storage and storage.node in coming:
            lacking = [f"volume {name}" for name, id_ in storage.volumes.items() if not id_]
            check_made(self.request, lacking)

        def context(hosts: Sequence[Host]) -> Cluster:
            return Cluster(
                self.params,
                self.topology,
                hosts,
                joining=[node for node in coming if node in self.topology.nodes],
                leaving=[node for node in going if node in self.topology.nodes],
                storage=storage if storage and storage.node in (*coming, *going) else None,
                marks=marks if marks is not None else {},
            )

        return carry_out(
            self.request,
            plan,
            crew,
            self.surroundings,
            context=context,
            endpoint=self._endpoint,
            secrets=self.params.secrets(),
        )

    def _endpoint(self, node: Node) -> Endpoint:
        storage = self.topology.storage
        is_storage = storage is not None and node == storage.node
        group = self.params.storage if is_storage else group_of(node, self.params)
        assert group
        return Endpoint(
            address=node.address(group.ssh_cp_name),
            username=group.login.username,
            password=group.login.password,
            private_key=group.login.private_key,
            server_id=node.server_id,
        )


def _vim_name(params: KubernetesParams, request: LcmRequest) -> str:
    return params.vim_name or f"kubernetes_vim_{request.vnf_instance_id}"
