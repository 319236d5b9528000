"""The order of an operation's phases: when each host goes on, and what a failure stops."""

import functools
import heapq
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from operator import attrgetter, itemgetter
from typing import Any, Generic, NoReturn, TypeVar

from mgmt_drivers.engine.phase import Phase, Step, Work
from mgmt_drivers.errors import NodeError, OperationError
from mgmt_drivers.machine.host import Host

C = TypeVar("C")


@dataclass(eq=False)
class Stage(Generic[C]):
    """A phase at its place in the operation; ``left`` counts hosts until ``stack`` cleans up.

    An error of the phase itself, which no host has raised, is told as one of its ``first`` host.
    """

    number: int
    phase: Phase[C]
    first: Host
    left: int
    step: Step[C] = field(init=False)
    stack: ExitStack = field(default_factory=ExitStack)


@dataclass(eq=False)
class Task(Generic[C]):
    """A stage on the first host of ``lane``; without a lane, the task that makes the stage's step.

    ``after`` is the host for which the task has waited longest; ``ended`` counts the tasks.
    """

    number: int
    stage: Stage[C]
    lane: Sequence[Host]
    needs: "set[Task[C]]"
    after: Host | None = None
    ended: int = 0


def plan(works: Iterable[Work[C]]) -> list[Task[C]]:
    """Plan the tasks of an operation, in the order of its file.

    A task needs the earlier tasks on its host, those before it in its lane, and the earlier tasks
    on the hosts that its work comes after. None overtakes an earlier work that comes after all.
    """
    tasks: list[Task[C]] = []
    newest: dict[Host, Task[C]] = {}  # the last task of each host
    floor: set[Task[C]] = set()
    for work in works:
        begin = None if work.after is None else {newest[h] for h in work.after if h in newest}
        for phase in work.phases:
            stage = Stage(len(tasks), phase, work.lanes[0][0], sum(map(len, work.lanes)))
            needs = {*newest.values()} if begin is None else begin
            opening = Task(len(tasks), stage, (), needs | floor)
            floor = {opening} if begin is None else floor
            tasks.append(opening)
            for lane in work.lanes:
                before = opening
                for place, host in enumerate(lane):
                    needs = {before, newest.get(host, before)}
                    newest[host] = before = Task(len(tasks), stage, lane[place:], needs)
                    tasks.append(before)
    return tasks


class Run(Generic[C]):
    """Runs each task when its needs are met; of those that are ready, the first of the file.

    After a failure no task of a later stage begins; tasks of the same and of earlier stages do, so
    that the errors of all hosts are found, however far each host has come.

    :param run_on: runs a step on a host; returns the error, or None
    :param ask: asks a host something that all hosts of a stage need
    :param threads: number of tasks at a time
    """

    def __init__(
        self, tasks: Sequence[Task[C]], context: C, run_on: Callable[..., NodeError | None],
        ask: Callable[..., Any], pool: Executor, threads: int,
    ) -> None:
        self._tasks, self._context, self._run_on, self._ask = tasks, context, run_on, ask
        self._pool, self._free = pool, threads
        self._sorter = TopologicalSorter({task: task.needs for task in tasks})
        self._sorter.prepare()
        self._ready: list[tuple[int, Task[C]]] = []
        self._ended, self._last = 0, len(tasks)  # the number of the last stage that may begin
        self._errors: list[tuple[int, Sequence[NodeError]]] = []
        self._begun: list[Future[None]] = []
        self._lock = threading.Lock()

    def run(self) -> Sequence[NodeError]:
        """Run the tasks until nothing can begin; returns the errors in the order of the tasks."""
        with self._lock:
            self._begin()
        try:
            for begun in self._begun:  # a task that ends adds those that have waited for it
                begun.result()
        finally:  # also if the process is interrupted
            self._last = -1
            for task in self._tasks:
                task.stage.stack.close()
        failed = sorted(self._errors, key=itemgetter(0))
        return [error for _, errors in failed for error in errors]

    def _begin(self) -> None:
        for task in self._sorter.get_ready():
            if task.needs:
                newest = max(task.needs, key=attrgetter("ended"))
                task.after = newest.lane[0] if newest.lane else newest.after
            heapq.heappush(self._ready, (task.number, task))
        while self._ready and self._free:
            _, task = heapq.heappop(self._ready)
            if task.stage.number <= self._last:
                self._free -= 1
                self._begun.append(self._pool.submit(self._go, task))

    def _go(self, task: Task[C]) -> None:
        try:
            errors = self._do(task)
        except OperationError as failed:
            errors = failed.errors
        except Exception as error:  # noqa: BLE001 - told when the tasks that run have ended
            title, fail = task.stage.phase.title, functools.partial(_fail, error)
            told = self._run_on(title, fail, self._context, task.stage.first, (), task.after)
            errors = [told] if told else []
        with self._lock:
            self._free += 1
            self._ended += 1
            task.ended = self._ended
            if errors:
                self._last = min(self._last, task.stage.number)
                self._errors.append((task.number, errors))
            else:
                self._sorter.done(task)
            self._begin()

    def _do(self, task: Task[C]) -> Sequence[NodeError]:
        stage = task.stage
        if not task.lane:
            ask = functools.partial(self._ask, stage.phase.title, after=task.after)
            stage.step = stage.stack.enter_context(stage.phase.around(self._context, ask))
            return ()
        error = self._run_on(
            stage.phase.title, stage.step, self._context, task.lane[0], task.lane[1:], task.after
        )
        with self._lock:
            stage.left -= 1
            is_last = not stage.left
        if is_last:
            stage.stack.close()
        return [error] if error else []


def _fail(error: Exception, *_: object) -> NoReturn:
    raise error
