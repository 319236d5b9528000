"""Carries out a plan: its phases in order, each on all nodes at once."""

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from mgmt_drivers import trace
from mgmt_drivers.errors import NodeError, OperationError
from mgmt_drivers.host.host import Host
from mgmt_drivers.inventory import Node
from mgmt_drivers.phases.phase import Phase
from mgmt_drivers.ssh import parallel
from mgmt_drivers.ssh.session import Session

C = TypeVar("C")
T = TypeVar("T", Host, Node)

CONNECT = "connect"  # the phase under which logging in is traced


@dataclass(frozen=True)
class Operation(Generic[C]):
    """One LCM operation on the nodes of one VNF instance.

    ``connect`` opens the one session that a node gets, ``context`` makes of the
    logged-in hosts what every phase is given.
    """

    name: str
    vnf_instance_id: str
    context: Callable[[Sequence[Host]], C]
    connect: Callable[[Node], Session]
    trace: trace.Trace

    def carry_out(self, plan: Sequence[Phase[C]], nodes: Sequence[Node]) -> C:
        """Run every phase of the plan; a phase begins when the one before has ended well.

        :returns: the context, with what the phases left in it
        :raises OperationError: naming each node that failed, and why
        """
        with self._hosts(nodes) as hosts:
            context = self.context(hosts)
            for phase in plan:
                action = functools.partial(_run, phase, context)
                with phase.around(context):
                    self._on_all(hosts, phase.title, action)
            return context

    @contextmanager
    def _hosts(self, nodes: Sequence[Node]) -> Iterator[list[Host]]:
        opened: list[Host] = []

        def log_in(node: Node) -> str:
            opened.append(Host(node, self.connect(node)))
            return trace.CHANGED

        try:
            self._on_all(nodes, CONNECT, log_in)
            order = {node: number for number, node in enumerate(nodes)}
            yield sorted(opened, key=lambda host: order[host.node])
        finally:
            for host in opened:
                host.session.close()

    def _on_all(self, items: Sequence[T], title: str, action: Callable[[T], str]) -> None:
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

        failures = [failure for failure in parallel.each(one, items) if failure]
        if failures:
            raise OperationError(self.name, failures) from failures[0].cause

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
