"""One LCM operation: opens connections to machines, and runs phases on them."""

import functools
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from typing import TypeVar

from mgmt_drivers import errors
from mgmt_drivers.engine import lock, schedule
from mgmt_drivers.engine.dry_run import DryRun
from mgmt_drivers.engine.phase import Phase, Prediction, Work
from mgmt_drivers.engine.services import Services
from mgmt_drivers.engine.trace import CHANGED, CHECKED, FAILED, Outcome, Record, Trace
from mgmt_drivers.inventory import Node, check_created
from mgmt_drivers.machine.host import Host
from mgmt_drivers.request import HEAL, INSTANTIATE, LcmRequest
from mgmt_drivers.secret import Masker, Secret
from mgmt_drivers.ssh.connection import Endpoint
from mgmt_drivers.ssh.hostkeys import STORE_KEY, HostKeys
from mgmt_drivers.ssh.session import COUNT, Session

LOG = logging.getLogger(__name__)

C = TypeVar("C")
E = TypeVar("E", bound=BaseException)
T = TypeVar("T")
X = TypeVar("X", Host, Node)

# For warnings: a deletion goes on, although another operation may be working there.
UNCHECKED = "the lock of another operation is not checked"
CONNECT = "connect"  # title of logins in traces and errors
RUNNING_LIMIT = 10.0  # seconds for a running machine to answer
# Limit (s) for checking the locks of all machines before they are deleted. A locked machine uses
# 30 s of it.
_LOCKS_LIMIT = 60.0


class Operation:
    """One LCM operation on the machines of one VNF instance.

    A context manager. Each machine gets one connection, which is closed at the end. The machine is
    locked for other operations as long as the connection is open.

    :param machines: all machines of the VNF, whose host keys are kept
    :param secrets: values to mask in the output of machines
    """

    def __init__(
        self,
        request: LcmRequest,
        services: Services,
        machines: Sequence[Node],
        endpoint: Callable[[Node], Endpoint],
        secrets: Iterable[Secret],
    ) -> None:
        self.request, self.services, self.machines = request, services, machines
        self._endpoint, self._masker = endpoint, Masker(secrets)
        self._saved_keys: dict[str, str] = services.store.load(STORE_KEY, {})
        self._host_keys = HostKeys(self._saved_keys)
        known = {vnfc.server_id for vnfc in request.vnfcs}
        self._host_keys.keep_only(known | {node.server_id for node in machines})
        self._hosts: dict[Node, Host] = {}
        self._unreachable: dict[object, errors.NodeError] = {}
        self._trace = Trace(services.trace_folder)
        self._pool = services.pool(services.threads)

    def __enter__(self) -> "Operation":
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        for host in self._hosts.values():
            host.session.close()
        self._pool.shutdown()
        failure = self._save_host_keys()
        if failure and error is None:
            raise failure

    def connect(self, nodes: Sequence[Node], limit: float | None = None) -> list[Host]:
        """Log in to machines that the operation needs; the machines may still be booting.

        :param limit: seconds for a machine to answer; default: the limit for new machines
        :raises ServiceFailed: if Heat could not create one of the machines
        :raises OperationError: naming each machine that cannot be reached, and the cause
        """
        check_created(self.request, [str(node) for node in nodes if not node.server_id])
        self._raise_any(self._log_in(nodes, limit or self.services.ssh_timeout))
        return [self._hosts[node] for node in nodes]

    def connect_to_running(self, nodes: Sequence[Node]) -> list[Host]:
        """Log in to the machines that answer, and leave out the others."""
        self._log_in(nodes, RUNNING_LIMIT)
        return [self._hosts[node] for node in nodes if node in self._hosts]

    def check_unlocked(self, limit: float = _LOCKS_LIMIT) -> None:
        """Check that no other operation works on the machines, which are about to be deleted.

        Checks all machines in parallel, within ``limit`` seconds. A machine that does not answer
        counts as unlocked, with a warning, and is not traced.

        :raises OperationError: naming each locked machine, and the operation that holds the lock
        """
        pool = ThreadPoolExecutor(max_workers=self.services.threads)
        looks = [pool.submit(self._lock_error, node) for node in self.machines if node.server_id]
        wait(looks, limit)
        pool.shutdown(wait=False)  # machines that hang are not waited for
        ended = [look.result() for look in looks if look.done()]
        if len(ended) < len(looks):
            late = len(looks) - len(ended)
            LOG.warning("%d machines do not answer within %g s: %s", late, limit, UNCHECKED)
        self._raise_any(ended)

    def _lock_error(self, node: Node) -> errors.NodeError | None:
        try:
            self._open(node, RUNNING_LIMIT).session.close()
        except errors.Locked as error:
            return errors.NodeError(node, CONNECT, _clean(error, self._masker))
        except Exception as error:  # noqa: BLE001 - a machine may be broken in any way
            reason = errors.printable(self._masker(str(error)))
            LOG.warning("%s does not answer: %s: %s", node, UNCHECKED, reason)
        return None

    def choose(
        self, title: str, nodes: Sequence[Node], checks: Sequence[Callable[[Host], None]]
    ) -> Host:
        """Choose the first running machine that passes a check.

        The first check is tried on all machines, then the second check, and so on. A machine with a
        wrong host key ends the choice, before any later machine is tried.

        :raises OperationError: naming the cause for each machine
        """
        failures: dict[Node, errors.NodeError] = {}
        for check in checks:
            for node in nodes:
                failed = self._log_in([node], RUNNING_LIMIT)
                if failed and isinstance(failed[0].cause, errors.WrongHostKey):
                    self._raise_any(failed)
                if not failed:
                    try:
                        self.ask(title, self._hosts[node], check)
                        return self._hosts[node]
                    except errors.OperationError as error:
                        failed = [*error.errors]
                    self._hosts.pop(node).session.close()  # the connection may be broken
                failures[node] = failed[0]
        raise errors.OperationError(self.request.operation, list(failures.values()))

    def ask(
        self, title: str, host: Host, question: Callable[[Host], T], outcome: Outcome = CHECKED,
        after: Host | None = None,
    ) -> T:
        """Ask one host a question, as :meth:`ask_each` does, in the thread of the caller."""
        answers: list[T] = []

        def step(host: Host, _: None) -> Outcome:
            answers.append(question(host))
            return outcome

        self._raise_any([self._run_on(title, step, None, host, after=after)])
        return answers[0]

    def ask_each(
        self, title: str, hosts: Sequence[Host], question: Callable[[Host], T]
    ) -> list[T]:
        """Ask hosts the same question; the trace records the question under the title.

        Returns the answers in the order of the hosts.
        """
        asked = [self._pool.submit(self.ask, title, host, question) for host in hosts]
        caught = [each.exception() for each in asked]
        failed = [error for error in caught if isinstance(error, errors.OperationError)]
        self._raise_any([failure for error in failed for failure in error.errors])
        return [each.result() for each in asked]

    def run(self, context: C, *works: Work[C]) -> None:
        """Run phases, each on its hosts, in the order that :class:`Work` explains.

        In a dry run, collect the predictions of the phases.

        :raises OperationError: naming each host that failed, and the cause
        """
        dry_run = self.services.dry_run
        for phase, lanes in ((phase, work.lanes) for work in works for phase in work.phases):
            if not lanes:
                LOG.debug("phase '%s' is left out: no machine for it", phase.title)
            elif dry_run:
                dry_run.operation = self.request.operation
                self._dry_run(dry_run, phase, [host for lane in lanes for host in lane], context)
        if not dry_run:
            tasks = schedule.plan([work for work in works if work.lanes])
            threads = self.services.threads
            run = schedule.Run(tasks, context, self._run_on, self.ask, self._pool, threads)
            self._raise_any(run.run())

    def _dry_run(
        self, dry_run: DryRun, phase: Phase[C], hosts: Sequence[Host], context: C
    ) -> None:
        def predict(host: Host) -> Prediction:
            return dry_run.predict(phase, host, context)

        predictions = self.ask_each(phase.title, hosts, predict)
        for host in phase.prepares(context):
            dry_run.note(phase.title, host.node, Prediction(CHANGED, "for the other machines"))
        for host, prediction in zip(hosts, predictions, strict=True):
            dry_run.note(phase.title, host.node, prediction)

    def _log_in(self, nodes: Sequence[Node], limit: float) -> list[errors.NodeError]:
        """Log in to the machines without a connection; returns the errors of all that failed.

        The operation does not try a machine again that has not answered once.

        :raises OperationError: if another operation works on one of the machines
        """
        def log_in(node: Node, _: None) -> Outcome:
            self._hosts[node] = self._open(node, limit)
            return CHECKED

        new = [n for n in nodes if n not in self._hosts and n not in self._unreachable]
        connect = functools.partial(self._run_on, CONNECT, log_in, None)
        for attempt in as_completed([self._pool.submit(connect, node) for node in new]):
            self._save_host_keys()  # now: the process may end before the last machine answers
            failure = attempt.result()
            if failure:
                self._unreachable[failure.node] = failure
        failures = [self._unreachable[node] for node in nodes if node in self._unreachable]
        self._raise_any([f for f in failures if isinstance(f.cause, errors.Locked)])
        return failures

    def _open(self, node: Node, limit: float) -> Host:
        """Log in to a machine, also when it has rebooted."""
        again = functools.partial(self._connect_and_lock, node, self.services.ssh_timeout)
        return Host(node, self._connect_and_lock(node, limit), self.services.clock, again)

    def _connect_and_lock(
        self, node: Node, limit: float, may_reboot: bool = True
    ) -> Session:
        """Log in to a machine, and lock the machine until the connection ends.

        A dry run takes no lock.

        :param may_reboot: log in once more if the machine is lost before it is locked
        """
        services, request = self.services, self.request
        endpoint = self._endpoint(node)
        has_key = endpoint.host_keys or self._host_keys.type_of(node.server_id)
        session = services.connect(endpoint, self._host_keys, self._masker, limit)
        if not has_key and not self._may_be_new(node):
            LOG.warning("no SSH host key of %s was kept: what answers is trusted from now on", node)
        since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(services.clock.time()))
        who = f"{request.operation} of VNF {request.vnf_instance_id}, since {since}"
        try:
            if not services.dry_run:
                lock.acquire(session, who)
        except BaseException as error:
            session.close()
            if may_reboot and isinstance(error, errors.ConnectionFailed):
                LOG.info("%s seems to reboot: %s", node, error)
                return self._connect_and_lock(node, limit, may_reboot=False)
            raise
        return session

    def _may_be_new(self, node: Node) -> bool:
        """Whether the drivers may never have logged in to a machine."""
        request = self.request
        is_whole = request.operation in (INSTANTIATE, HEAL) and not request.targets
        return is_whole or node.vnfc_id in request.targets

    def _save_host_keys(self) -> Exception | None:
        """Save new host keys; returns the error, which must not hide the operation's own error."""
        keys = self._host_keys.as_dict()
        if keys == self._saved_keys:
            return None
        try:
            self.services.store.save(STORE_KEY, keys)
        except Exception as error:  # noqa: BLE001 - Tacker's database may raise anything
            LOG.warning("SSH host keys are not saved: %s", errors.text_of(error))
            return error
        self._saved_keys = keys
        return None

    def _raise_any(self, failures: Sequence[errors.NodeError | None]) -> None:
        failed = [failure for failure in failures if failure]
        if failed:
            raise errors.OperationError(self.request.operation, failed) from failed[0].cause

    def _run_on(
        self, title: str, step: Callable[[X, C], Outcome], context: C, item: X,
        untried: Sequence[Host] = (), after: Host | None = None,
    ) -> errors.NodeError | None:
        """Run a step on a host, and trace it; returns the error, or None.

        The step of a login gets a node instead of a host. An error tells the hosts that it leaves
        ``untried``, the trace the host ``after`` which this one went on.
        """
        clock = self.services.clock
        node = item.node if isinstance(item, Host) else item
        start, sent = clock.time(), COUNT.commands
        request = self.request
        traced = (request.operation, request.vnf_instance_id, title, str(node), start)
        self._trace.begin(*traced)
        failure: errors.NodeError | None = None
        outcome: Outcome = FAILED
        try:
            outcome = step(item, context)
        except Exception as error:  # noqa: BLE001 - reported with its node, never lost
            rest = [host.node for host in untried]
            failure = errors.NodeError(node, title, _clean(error, self._masker), rest)
        why = errors.text_of(failure.cause) if failure else ""
        waited_for = str(after.node) if after else ""
        commands = COUNT.commands - sent
        self._trace.add(Record(*traced, clock.time(), outcome, why, waited_for, commands))
        return failure


def _clean(error: E, mask: Masker) -> E | errors.MgmtDriverError:
    """Mask secrets and escape control characters in an error and its causes.

    A log with a traceback shows the causes, too, and an error may quote the output of a machine. An
    error whose text is not made of its arguments (PyYAML's) is replaced by a MgmtDriverError.
    """
    if error.__cause__:
        error.__cause__ = _clean(error.__cause__, mask)
    elif error.__context__:
        error.__context__ = _clean(error.__context__, mask)
    error.args = tuple(errors.printable(mask(a)) if isinstance(a, str) else a for a in error.args)
    text = mask(str(error))
    if text == str(error) and text.isprintable():
        return error
    other = errors.Unexpected(f"{type(error).__name__}: {text}")
    other.__cause__ = error.__cause__ or error.__context__
    return other.with_traceback(error.__traceback__)
