"""Carrying out a plan: order, skipping, errors of several nodes, the trace."""

import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from mgmt_drivers.errors import (
    CommandFailed,
    ConnectionFailed,
    HostKeyChanged,
    OperationError,
)
from mgmt_drivers.host.host import Host
from mgmt_drivers.inventory import Node
from mgmt_drivers.operation import Crew, Operation
from mgmt_drivers.phases.phase import Phase
from mgmt_drivers.ssh.session import Session
from mgmt_drivers.tests.fakes import FakeSession
from mgmt_drivers.trace import Trace

NODES = [Node(f"vnfc-{n}", "VDU", f"server-{n}", {"CP1": f"192.0.2.{n}"}) for n in (1, 2, 3)]
ALL = Crew(required=NODES)


class Touch(Phase[set[str]]):
    """Needed on the nodes whose VNFC the parameters name; notes where it ran."""

    title = "touch"

    def __init__(self, fail_on: tuple[str, ...] = ()) -> None:
        self.fail_on = fail_on
        self.ran: list[str] = []

    def needed(self, host: Host, params: set[str]) -> bool:
        return host.node.vnfc_id in params

    def apply(self, host: Host, params: set[str]) -> None:
        if host.node.vnfc_id in self.fail_on:
            raise CommandFailed("touch it", 3, "no space left")
        self.ran.append(host.node.vnfc_id)


class OperationTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.sessions: list[FakeSession] = []
        self.unreachable: set[str] = set()

    def connect(self, node: Node, limit: float | None) -> Session:
        if node.vnfc_id in self.unreachable:
            raise ConnectionFailed(f"no route to {node.vnfc_id}")
        self.sessions.append(FakeSession())
        return self.sessions[-1]

    def carry_out(self, *plan: Phase[set[str]], where: set[str], crew: Crew = ALL) -> None:
        operation = Operation(
            "scale", "vnf-1", lambda hosts: where, self.connect, Trace(self.folder)
        )
        operation.carry_out(plan, crew)

    def trace(self) -> list[tuple[str, str, str]]:
        lines = (self.folder / "vnf-1.jsonl").read_text().splitlines()
        records = [json.loads(line) for line in lines]
        for record in records:
            self.assertLessEqual(record["start"], record["end"])
            self.assertEqual(("scale", "vnf-1"), (record["operation"], record["vnf"]))
        return sorted((r["phase"], r["node"].split()[2].strip(","), r["outcome"]) for r in records)

    def test_phases_run_where_they_are_needed_and_sessions_are_closed_once(self) -> None:
        first, second = Touch(), Touch()
        self.carry_out(first, second, where={"vnfc-1", "vnfc-3"})
        self.assertEqual({"vnfc-1", "vnfc-3"}, set(first.ran))
        self.assertEqual(set(first.ran), set(second.ran))
        self.assertEqual([1, 1, 1], [session.closed for session in self.sessions])
        touched = [entry[1:] for entry in self.trace() if entry[0] == "touch"]
        self.assertEqual(
            [("vnfc-1", "changed")] * 2 + [("vnfc-2", "skipped")] * 2 + [("vnfc-3", "changed")] * 2,
            touched,
        )

    def test_errors_of_all_nodes_are_reported_and_end_the_operation(self) -> None:
        first, second = Touch(fail_on=("vnfc-1", "vnfc-3")), Touch()
        with self.assertRaises(OperationError) as caught:
            self.carry_out(first, second, where={"vnfc-1", "vnfc-2", "vnfc-3"})
        self.assertEqual(["vnfc-2"], first.ran)
        self.assertEqual([], second.ran)
        text = str(caught.exception)
        for words in ("vnfc-1", "192.0.2.1", "vnfc-3", "'touch'", "`touch it`", "status 3",
                      "no space left"):
            self.assertIn(words, text)
        self.assertNotIn("vnfc-2", text)
        self.assertIn(("touch", "vnfc-1", "failed"), self.trace())
        self.assertEqual([1, 1, 1], [session.closed for session in self.sessions])

    def test_an_unreachable_node_ends_it_before_anything_changes(self) -> None:
        self.unreachable = {"vnfc-2"}
        phase = Touch()
        with self.assertRaisesRegex(OperationError, "'connect': no route to vnfc-2"):
            self.carry_out(phase, where={"vnfc-1"})
        self.assertEqual([], phase.ran)
        self.assertEqual([1, 1], [session.closed for session in self.sessions])

    def test_a_machine_that_does_not_answer_is_waited_for_once(self) -> None:
        def nobody(host: Host) -> None:
            raise CommandFailed("be well", 1, "")

        def the_third(host: Host) -> None:
            if host.node is not NODES[2]:
                raise CommandFailed("be the third", 1, "")

        self.unreachable = {"vnfc-1"}
        phase = Touch()
        crew = Crew(any_of=NODES, optional=NODES, checks=[nobody, the_third])
        self.carry_out(phase, where={"vnfc-2", "vnfc-3"}, crew=crew)
        self.assertEqual({"vnfc-2", "vnfc-3"}, set(phase.ran))
        self.assertEqual(1, self.trace().count(("connect", "vnfc-1", "failed")))

        with self.assertRaises(OperationError) as caught:
            self.carry_out(phase, where=set(), crew=Crew(any_of=NODES, checks=[nobody, nobody]))
        for words in ("no route to vnfc-1", "vnfc-2", "vnfc-3", "`be well`"):
            self.assertIn(words, str(caught.exception))

    def test_what_answers_in_the_place_of_a_machine_is_not_passed_over(self) -> None:
        error = HostKeyChanged("vnfc-1 shows another host key")
        with (
            mock.patch.object(self, "connect", side_effect=error) as connect,
            self.assertRaisesRegex(OperationError, "another host key"),
        ):
            self.carry_out(Touch(), where=set(), crew=Crew(any_of=NODES))
        connect.assert_called_once()

    def test_a_trace_that_cannot_be_written_fails_nothing(self) -> None:
        blocked = self.folder / "file"
        blocked.touch()
        phase = Touch()
        operation = Operation(
            "scale", "vnf-1", lambda hosts: {"vnfc-1"}, self.connect, Trace(blocked)
        )
        with self.assertLogs("mgmt_drivers.trace", "WARNING"):
            operation.carry_out([phase], ALL)
        self.assertEqual(["vnfc-1"], phase.ran)
