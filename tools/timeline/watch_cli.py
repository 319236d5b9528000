"""The command line that follows an operation."""

import argparse
import contextlib
import json
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mgmt_drivers.engine.trace import FAILED, RUNNING, Record
from mgmt_drivers.errors import printable
from tools import command
from tools.client import instances
from tools.client.config import cloud
from tools.client.errors import ClientError
from tools.client.lcm import FINAL_STATES
from tools.progress import Progress, Step, print_error

_FOLDER = "/var/log/tacker/mgmt_drivers"
_PAUSE = 2  # seconds between two looks


def parsers() -> Iterator[command.Parser]:
    made = command.part(
        "watch",
        "Follow the operation of a VNF: which phase runs on which machine, until the operation "
        "ends. The drivers' trace shows the phases (trace_dir of tacker.conf); Tacker, that of "
        "OS_CLOUD or OS_*, tells the end.",
        _watch,
    )
    text = "id or name of the VNF instance"
    made.add_argument("vnf", type=command.free_text, metavar="VNF", help=text)
    command.add_api(made, "the one that has the VNF")
    made.add_argument(
        "--trace-dir", type=command.free_text, default=_FOLDER, metavar="FOLDER",
        help="where the conductor has the traces; default: %(default)s",
    )
    made.add_argument(
        "--via", type=_words, default=[], metavar="WORDS",
        help="what runs a command on the conductor's machine, such as 'ssh conductor-1'; default: "
        "this is the machine",
    )
    yield made


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(command.free_text(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from error
    return words


def _watch(options: argparse.Namespace) -> int:
    vnf = instances.find(cloud(), options.vnf, options.api)
    path = f"{options.trace_dir}/{vnf.id}.jsonl"
    shown = Shown()
    try:
        with shown:
            while True:
                newest: Mapping[str, Any] = (vnf.occurrences() or [{}])[-1]
                if not newest:
                    raise ClientError(f"VNF instance {vnf.id} has had no operation")
                shown.update(_records(options.via, path))
                if newest["operationState"] in FINAL_STATES:
                    break
                time.sleep(_PAUSE)
    except KeyboardInterrupt:
        print_error("the operation goes on in Tacker")
        raise
    return _end(newest)


def _end(occurrence: Mapping[str, Any]) -> int:
    text = f"{occurrence['operation']} of {occurrence['startTime']}: {occurrence['operationState']}"
    if occurrence["operationState"] == "COMPLETED":
        print(text)
        return command.GOOD
    print_error(f"{text}; see openstack vnflcm op show {occurrence['id']}")
    return command.FINDING


def _records(via: Sequence[str], path: str) -> list[Record]:
    """:raises ClientError: if the trace cannot be read"""
    told = "no trace"
    words = ["sh", "-c", f'test -e "$0" || {{ echo {told} >&2; exit 1; }}; cat "$0"', path]
    # ssh gives its words to a shell, joined.
    ran = subprocess.run(
        [*via, shlex.join(words)] if via[:1] == ["ssh"] else [*via, *words],
        check=False, capture_output=True, text=True,
    )
    if ran.returncode and ran.stderr.strip() != told:
        raise ClientError(f"the trace {path} cannot be read: {printable(ran.stderr.strip())}")
    return list(_parsed(ran.stdout))


def _parsed(text: str) -> Iterator[Record]:
    """The records, without a last line that is being written."""
    for line in text.splitlines(keepends=True):
        if line.endswith("\n"):
            with contextlib.suppress(ValueError, TypeError):
                yield Record(**json.loads(line))


class Shown:
    """The phase that each machine is in, as a step of a progress.

    A machine is in one phase at a time: a phase that begins ends one that the trace has not ended,
    such as of a conductor that was killed.
    """

    def __init__(self) -> None:
        self._progress = Progress()
        self._seen: int | None = None  # number of records
        self._steps: dict[str, tuple[Step, contextlib.ExitStack]] = {}  # by machine

    def __enter__(self) -> "Shown":
        return self

    def __exit__(self, *_: object) -> None:
        for node in [*self._steps]:
            self._end(node)

    def update(self, records: Sequence[Record]) -> None:
        """:param records: all of the trace"""
        if self._seen is None:  # what has ended before is not shown
            new = [*{record.node: record for record in records}.values()]
            new = [record for record in new if record.outcome == RUNNING]
        else:
            new = [*records[self._seen if self._seen <= len(records) else 0 :]]
        self._seen = len(records)
        for record in new:
            self._end(record.node, record.outcome == FAILED)
            if record.outcome == RUNNING:
                stack = contextlib.ExitStack()
                step = stack.enter_context(self._progress.step(f"{record.phase}, {record.node}"))
                self._steps[record.node] = step, stack

    def _end(self, node: str, failed: bool = False) -> None:
        if node in self._steps:
            step, stack = self._steps.pop(node)
            step.failed = failed
            stack.close()
