"""Carries out a plan: its phases in order, each on all nodes at once."""

import functools
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from mgmt_drivers import trace
from mgmt_drivers.errors import HostKeyChanged, MgmtDriverError, NodeError, OperationError
from mgmt_drivers.host.host import Host
from mgmt_drivers.inventory import Node
from mgmt_drivers.phases.phase import Phase
from mgmt_drivers.ssh import parallel
from mgmt_drivers.ssh.session import Session

C = TypeVar("C")
T = TypeVar("T", Host, Node)

CONNECT = "connect"  # the phase under which logging in is traced
RUNNING_LIMIT = 10.0  # seconds for a machine to answer that has been running all along


@dataclass(frozen=True)
class Crew:
    """The machines that an operation logs in to.

    Of ``required`` each must answer, and may still be booting. Of ``optional``
    those that do not answer are left out. Of ``any_of`` one is taken: the first
    that answers and at which the first of ``checks`` raises nothing, or else the
    second, and so on. It comes first among the hosts. None is taken while one of
    those before it shows a host key that is not its own.
    """

    required: Sequence[Node] = ()
    optional: Sequence[Node] = ()
    any_of: Sequence[Node] = ()
    checks: Sequence[Callable[[Host], None]] = (lambda host: None,)


@dataclass(frozen=True)
class Operation(Generic[C]):
    """One LCM operation on the nodes of one VNF instance.

    ``connect`` opens the one session that a node gets, within a number of
    seconds where one is given; ``context`` makes of the logged-in hosts what
    every phase is given.
    """

    name: str
    vnf_instance_id: str
    context: Callable[[Sequence[Host]], C]
    connect: Callable[[Node, float | None], Session]
    trace: trace.Trace

    def carry_out(self, plan: Sequence[Phase[C]], crew: Crew) -> C:
        """Run every phase of the plan; a phase begins when the one before has ended well.

        :returns: the context, with what the phases left in it
        :raises OperationError: naming each node that failed, and why
        """
        with self._hosts(crew) as hosts:
            context = self.context(hosts)
            for phase in plan:
                action = functools.partial(_run, phase, context)
                with phase.around(context):
                    self._on_all(hosts, phase.title, action)
            return context

    @contextmanager
    def _hosts(self, crew: Crew) -> Iterator[list[Host]]:
        opened: list[Host] = []
        dead: list[Node] = []

        def log_in(node: Node, limit: float | None = None) -> str:
            opened.append(Host(node, self.connect(node, limit)))
            return trace.CHANGED

        def try_to_log_in(node: Node) -> str:
            try:
                return log_in(node, RUNNING_LIMIT)
            except Exception:
                dead.append(node)  # waited for once
                raise

        try:
            self._log_in_to_any(crew, opened, dead, try_to_log_in)
            picked = [host.node for host in opened]
            self._on_all(crew.required, CONNECT, log_in)
            known = [*dead, *(host.node for host in opened)]
            self._each([n for n in crew.optional if n not in known], CONNECT, try_to_log_in)
            order = [*picked, *crew.any_of, *crew.required, *crew.optional]
            yield sorted(opened, key=lambda host: order.index(host.node))
        finally:
            for host in opened:
                host.session.close()

    def _log_in_to_any(
        self,
        crew: Crew,
        opened: list[Host],
        dead: Collection[Node],
        log_in: Callable[[Node], str],
    ) -> None:
        def log_in_and_check(check: Callable[[Host], None], node: Node) -> str:
            log_in(node)
            try:
                check(opened[-1])
            except MgmtDriverError:
                opened.pop().session.close()
                raise
            return trace.CHANGED

        failures: dict[Node, NodeError] = {}
        for check in crew.checks:
            for node in crew.any_of:
                if node in dead:
                    continue
                failed = self._each([node], CONNECT, functools.partial(log_in_and_check, check))
                if not failed:
                    return
                if isinstance(failed[0].cause, HostKeyChanged):
                    raise OperationError(self.name, failed) from failed[0].cause
                failures[node] = failed[0]
        if failures:
            raise OperationError(self.name, list(failures.values()))

    def _on_all(self, items: Sequence[T], title: str, action: Callable[[T], str]) -> None:
        failures = self._each(items, title, action)
        if failures:
            raise OperationError(self.name, failures) from failures[0].cause

    def _each(
        self, items: Sequence[T], title: str, action: Callable[[T], str]
    ) -> list[NodeError]:
        """Do ``action`` on each host or node, trace it, and gather the errors."""

        def one(item: T) -> NodeError | None:
            node = item.node if isinstance(item, Host) else item
            start = time.time()
            failure, outcome = None, trace.FAILED
            try:
                outcome = action(item)
            except Exception as error:  # noqa: BLE001 - reported with its node, never lost
                failure = NodeError(node, title, error)
            self._record(title, node, start, outcome, failure)
            return failure

        return [failure for failure in parallel.each(one, items) if failure]

    def _record(
        self, title: str, node: object, start: float, outcome: str, failure: NodeError | None
    ) -> None:
        self.trace.add(
            trace.Record(
                operation=self.name,
                vnf=self.vnf_instance_id,
                phase=title,
                node=str(node),
                start=start,
                end=time.time(),
                outcome=outcome,
                error=str(failure.cause) if failure else "",
            )
        )


def _run(phase: Phase[C], context: C, host: Host) -> str:
    if not phase.needed(host, context):
        return trace.SKIPPED
    phase.apply(host, context)
    return trace.CHANGED
