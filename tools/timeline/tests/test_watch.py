"""Following an operation by its trace, as an operator does."""

import contextlib
import io
import json
import tempfile
import unittest
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest import mock

from mgmt_drivers.engine.trace import Outcome, Record
from tools.k8s_vnf.app import main
from tools.timeline import watch_cli


def _record(node: str, phase: str, start: float, outcome: Outcome = "running") -> Record:
    return Record("heal", "vnf-1", phase, node, start, start + 1, outcome)


class ShownTest(unittest.TestCase):
    def shown(self, *looks: list[Record]) -> list[str]:
        """The lines after some looks at a trace that grows."""
        with contextlib.redirect_stdout(io.StringIO()) as said, watch_cli.Shown() as shown:
            seen: list[Record] = []
            for look in looks:
                seen += look
                shown.update(seen)
        return [line.partition("] ")[2] for line in said.getvalue().splitlines()]

    def test_what_ended_before_is_not_shown(self) -> None:
        old = [_record("a", "connect", 1), _record("a", "connect", 1, "checked")]
        self.assertEqual([], self.shown(old))
        self.assertEqual(["join, a ..."], self.shown([*old, _record("a", "join", 2)]))

    def test_phases_begin_and_end(self) -> None:
        lines = self.shown(
            [_record("a", "drain", 1)],
            [
                _record("b", "drain", 1), _record("a", "drain", 1, "changed"),
                _record("a", "join", 2),
            ],
            [_record("a", "join", 2, "failed")],
        )
        self.assertEqual(["drain, a ...", "drain, b ...", "join, a ..."], lines)

    def test_a_phase_without_an_end_ends_by_the_next_one(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()), watch_cli.Shown() as shown:
            shown.update([_record("a", "drain", 1)])
            shown.update([_record("a", "drain", 1), _record("a", "connect", 9)])
            self.assertEqual(["a"], list(shown._steps))
            shown.update([_record("a", "connect", 10)])  # the trace was renamed
            self.assertEqual(["a"], list(shown._steps))


class CommandTest(unittest.TestCase):
    def setUp(self) -> None:
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.states = ["PROCESSING", "COMPLETED"]
        vnf: Any = mock.Mock(id="vnf-1")
        vnf.occurrences = lambda: [{
            "id": "op-1", "operation": "HEAL", "startTime": "12:00", "operationState": state
        } for state in self.states[:1]]
        self.patch(watch_cli, "cloud", mock.Mock())
        self.patch(watch_cli.instances, "find", mock.Mock(return_value=vnf))
        self.patch(watch_cli.time, "sleep", lambda _: self.states.pop(0))

    def patch(self, where: Any, name: str, what: Any) -> None:
        self.stack.enter_context(mock.patch.object(where, name, what))

    def watch(self, *words: str) -> tuple[int, str, str]:
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            status = main(["watch", "k8s", "--trace-dir", self.folder, *words])
        return status, out.getvalue(), errors.getvalue()

    def test_until_the_operation_ends(self) -> None:
        self.assertEqual((0, "HEAL of 12:00: COMPLETED\n", ""), self.watch())  # no trace yet
        lines = [json.dumps(asdict(_record("a", "drain", 1))), '{"half']
        Path(self.folder, "vnf-1.jsonl").write_text("\n".join(lines))
        self.states = ["PROCESSING", "FAILED_TEMP"]
        status, said, errors = self.watch()
        self.assertEqual(1, status)
        self.assertIn("drain, a ...", said)
        self.assertIn("FAILED_TEMP; see openstack vnflcm op show op-1", errors)

    def test_an_interrupt_ends_the_watch_alone(self) -> None:
        with mock.patch.object(watch_cli.time, "sleep", side_effect=KeyboardInterrupt):
            status, _, errors = self.watch()
        self.assertEqual((130, "error: the operation goes on in Tacker\n"), (status, errors))

    def test_on_another_machine(self) -> None:
        self.states = ["COMPLETED"]
        with mock.patch.object(watch_cli.subprocess, "run") as run:
            run.return_value = mock.Mock(returncode=0, stdout="", stderr="")
            for via, count in (("ssh conductor", 3), ("docker exec c", 7)):
                self.watch("--via", via)
                command = run.call_args.args[0]
                self.assertEqual((via.split(), count), (command[: len(via.split())], len(command)))
            run.return_value = mock.Mock(returncode=255, stdout="", stderr="no route to host")
            status, _, errors = self.watch("--via", "ssh conductor")
        self.assertEqual(3, status)
        self.assertIn("vnf-1.jsonl cannot be read: no route to host", errors)
