"""Carrying out a plan: order, whom it concerns, errors of several hosts, the trace."""

import contextlib
import json
import logging
import tempfile
import threading
import traceback
import unittest
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paramiko
import yaml

from mgmt_drivers.engine import trace
from mgmt_drivers.engine.operation import Operation
from mgmt_drivers.engine.phase import (
    Ask,
    Change,
    Check,
    Phase,
    Step,
    Work,
    in_lanes,
    in_turn,
    on,
)
from mgmt_drivers.engine.schedule import plan
from mgmt_drivers.engine.trace import RUNNING, Outcome, Record, Trace
from mgmt_drivers.errors import (
    CommandFailed,
    ConnectionFailed,
    InventoryError,
    OperationError,
    WrongHostKey,
)
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine.host import Host
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh.connection import Endpoint
from mgmt_drivers.ssh.hostkeys import HostKeys, KnownKey
from mgmt_drivers.ssh.session import COUNT
from mgmt_drivers.testing.fakes import FakeSession, MemoryStore, services

NODES = [Node(f"vnfc-{n}", "VDU", f"server-{n}", {"CP1": f"192.0.2.{n}"}) for n in (1, 2, 3)]

_KEY = paramiko.ECDSAKey.generate()


class _FullStore(MemoryStore):
    def save(self, key: str, value: Any) -> None:
        raise OSError("the database is full")


class _Telling(MemoryStore):
    """Tells of the first value that it is given to keep, and keeps all that it ever was given."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[Any] = []
        self.has_some = threading.Event()

    def save(self, key: str, value: Any) -> None:
        super().save(key, value)
        self.given.append(value)
        self.has_some.set()


@dataclass(frozen=True)
class Context:
    """Hosts, and the VNFCs that a phase concerns, and those on which it finds work."""

    outdated: Sequence[str] = ("vnfc-1", "vnfc-2", "vnfc-3")


class Touch(Change[Context, str]):
    """Acts on outdated hosts; notes where it ran, and what it was handed."""

    title = "touch"

    def __init__(self, fail_on: Sequence[str] = ()) -> None:
        self.fail_on = fail_on
        self.ran: list[str] = []

    def look(self, host: Host, context: Context) -> str | None:
        vnfc = host.node.vnfc_id
        return f"found on {vnfc}" if vnfc in context.outdated else None

    def act(self, host: Host, context: Context, change: str) -> None:
        vnfc = host.node.vnfc_id
        assert change == f"found on {vnfc}"
        if vnfc in self.fail_on:
            raise CommandFailed("touch it", 3, "no space left")
        self.ran.append(vnfc)


class Agree(Check[Context]):
    title = "agree"

    def check(self, host: Host, context: Context) -> None:
        """All is well."""


class Reads(Agree):
    def __init__(self, text: str) -> None:
        self.text = text

    def check(self, host: Host, context: Context) -> None:
        if "\0" in self.text:
            raise OSError(2, "No such file", self.text)
        try:
            yaml.safe_load(self.text)
        except yaml.YAMLError as error:
            raise ValueError(f"cannot be read: {error}") from error


class Tell(Agree):
    def __init__(self, told: list[str]) -> None:
        self.told = told

    def check(self, host: Host, context: Context) -> None:
        self.told.append("next")


class Share(Phase[Context]):
    title = "share"

    def __init__(self, told: list[str], fails: bool) -> None:
        self.told, self.fails = told, fails

    @contextlib.contextmanager
    def around(self, context: Context, ask: Ask) -> Iterator[Step[Context]]:
        host = Host(NODES[0], FakeSession())
        self.told.append(ask(host, lambda host: f"made for {host.node.vnfc_id}"))
        yield self.step
        self.told.append("removed")

    def step(self, host: Host, context: Context) -> Outcome:
        self.told.append(host.node.vnfc_id)
        if self.fails:
            raise CommandFailed("share", 1, "")
        return "changed"


class OperationTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.sessions: list[FakeSession] = []
        self.errors: dict[str, Exception] = {}
        self.holders: dict[str, str] = {}
        self.hanging: dict[str, threading.Event] = {}
        self.store: MemoryStore = MemoryStore()

    def connect(self, endpoint: Endpoint, keys: HostKeys, *rest: Any) -> FakeSession:
        if endpoint.server_id in self.hanging:
            self.hanging[endpoint.server_id].wait(60)
        if endpoint.server_id in self.errors:
            raise self.errors[endpoint.server_id]
        keys.pin(endpoint.server_id, _KEY)
        session = FakeSession()
        session.holder = self.holders.get(endpoint.server_id, "")
        self.sessions.append(session)
        return session

    def cut_off(self, number: int) -> None:
        self.errors[f"server-{number}"] = ConnectionFailed(f"no route to vnfc-{number}")

    def operation(
        self,
        trace_folder: Path | None = None,
        kind: str = "scale",
        targets: frozenset[str] = frozenset(),
        host_keys: tuple[KnownKey, ...] = (),
        threads: int = 256,
    ) -> Operation:
        given = services(
            store=self.store, connect=self.connect, trace_folder=trace_folder or self.folder,
            threads=threads,
        )
        request = LcmRequest(kind, "vnf-1", Path(), {}, {}, stack_id="stack-1", targets=targets)

        def endpoint(node: Node) -> Endpoint:
            address = node.address("CP1")
            return Endpoint(address, "ubuntu", None, node.server_id, host_keys=host_keys)

        return Operation(request, given, NODES, endpoint, [Secret("Pl4nted")])

    def run_plan(self, *phases: Phase[Context]) -> None:
        """Run phases on all hosts."""
        with self.operation() as operation:
            operation.run(Context(), on(operation.connect(NODES), *phases))

    def test_host_keys_are_kept_before_the_last_machine_answers(self) -> None:
        store = self.store = _Telling()
        self.hanging = {"server-2": store.has_some}
        with self.operation() as operation:
            operation.connect(NODES)
        self.assertNotIn("server-2", store.given[0])
        self.assertLessEqual({"server-1", "server-2", "server-3"}, set(store.given[-1]))

    def test_machines_that_another_operation_has(self) -> None:
        """All of them are told, however many others are cut off or strange."""
        self.holders = {"server-1": "heal, since noon", "server-3": "scale, since one"}
        self.errors = {"server-2": ValueError("strange")}
        with (
            self.assertRaisesRegex(OperationError, "vnfc-1.*heal, since noon.*vnfc-3.*scale"),
            self.operation() as operation,
        ):
            operation.check_unlocked()
        self.assertEqual([1, 1], [session.closed for session in self.sessions])
        self.holders = {}
        with self.operation() as operation, self.assertLogs() as logs:
            operation.check_unlocked()
        self.assertRegex(logs.output[0], "^WARNING.*vnfc-2.*is not checked: strange$")
        self.assertFalse((self.folder / "vnf-1.jsonl").exists())

    def test_a_machine_that_hangs_is_not_waited_for(self) -> None:
        goes_on = threading.Event()
        self.addCleanup(goes_on.set)
        self.hanging = {"server-2": goes_on}
        with self.operation() as operation, self.assertLogs() as logs:
            operation.check_unlocked(limit=5)
        self.assertRegex(logs.output[-1], "^WARNING.*1 machines .* within 5 s: the lock")
        self.assertFalse(goes_on.is_set())
        self.assertEqual(2, len(self.sessions))

    def trace(self) -> list[tuple[str, str, str]]:
        lines = (self.folder / "vnf-1.jsonl").read_text().splitlines()
        records = [json.loads(line) for line in lines]
        for record in records:
            self.assertLessEqual(record["start"], record["end"])
            self.assertEqual(("scale", "vnf-1"), (record["operation"], record["vnf"]))
        rows = sorted((r["phase"], r["node"].split()[2].strip(","), r["outcome"]) for r in records)
        begun = [row[:2] for row in rows if row[2] == RUNNING]
        ended = [row for row in rows if row[2] != RUNNING]
        self.assertEqual(begun, [row[:2] for row in ended])
        return ended

    def test_a_trace_tells_how_many_commands_a_phase_has_sent(self) -> None:
        class Send(Agree):
            title = "send"

            def check(self, host: Host, context: Context) -> None:
                COUNT.commands += int(host.node.vnfc_id[-1])

        with self.operation() as operation:
            operation.run(Context(), on(operation.connect(NODES), Send(), Send()))
        lines = (self.folder / "vnf-1.jsonl").read_text().splitlines()
        sent = [r for r in map(json.loads, lines) if r["phase"] == "send"]
        self.assertEqual([1, 1, 2, 2, 3, 3], sorted(r["commands"] for r in sent if r["commands"]))
        self.assertEqual(6, [r["outcome"] for r in sent if not r["commands"]].count(RUNNING))

    def test_a_trace_that_has_grown_is_set_aside(self) -> None:
        path, old = self.folder / "vnf-1.jsonl", self.folder / "vnf-1.jsonl.1"
        record = Record("scale", "vnf-1", "touch", "VDU1", 0, 1, "changed")
        for size, is_set_aside in ((4 << 20, False), ((4 << 20) + 1, True), (5 << 20, True)):
            with path.open("wb") as file:
                file.truncate(size)
            running = Trace(self.folder)
            running.add(record)
            self.assertEqual(is_set_aside, old.exists())
            with path.open("ab") as file:
                file.truncate(6 << 20)
            running.add(record)  # an operation's records stay together
            self.assertLess(6 << 20, path.stat().st_size)
        self.assertEqual(5 << 20, old.stat().st_size)
        trace.remove(self.folder, "vnf-1")
        self.assertEqual([], list(self.folder.iterdir()))
        trace.remove(self.folder, "vnf-1")
        trace.remove(None, "vnf-1")

    def test_each_phase_runs_on_its_hosts_and_is_recorded_there(self) -> None:
        first, second, nowhere = Touch(), Touch(), Touch()
        with self.operation() as operation:
            hosts = operation.connect(NODES)
            operation.run(
                Context(outdated=["vnfc-3"]),
                on([hosts[0], hosts[2]], first, second),
                on([], nowhere),
                on(hosts, Agree()),
            )
        self.assertEqual([], nowhere.ran)
        self.assertEqual((["vnfc-3"], ["vnfc-3"]), (first.ran, second.ran))
        self.assertEqual([1, 1, 1], [session.closed for session in self.sessions])
        self.assertEqual(
            [
                *(("agree", f"vnfc-{n}", "checked") for n in (1, 2, 3)),
                *(("connect", f"vnfc-{n}", "checked") for n in (1, 2, 3)),
                *[("touch", "vnfc-1", "unchanged")] * 2,
                *[("touch", "vnfc-3", "changed")] * 2,
            ],
            self.trace(),
        )

    def test_errors_of_all_hosts_are_reported_and_end_the_operation(self) -> None:
        first, second = Touch(fail_on=("vnfc-1", "vnfc-3")), Touch()
        with self.assertRaises(OperationError) as caught:
            self.run_plan(first, second)
        self.assertEqual(["vnfc-2"], first.ran)
        self.assertEqual([], second.ran)
        text = str(caught.exception)
        for words in ("vnfc-1", "192.0.2.1", "vnfc-3", "'touch'", "`touch it`", "status 3",
                      "no space left"):
            self.assertIn(words, text)
        self.assertNotIn("vnfc-2", text)
        self.assertIn(("touch", "vnfc-1", "failed"), self.trace())
        self.assertEqual([1, 1, 1], [session.closed for session in self.sessions])

    def test_whatever_fails_says_it_in_one_line_of_some_thousand_characters(self) -> None:
        long = "a\nb\x1b" * 5_000_000
        for cause in (CommandFailed("x", 1, long), ValueError(long)):
            self.errors["server-1"] = cause
            with self.assertLogs("mgmt_drivers") as logs, self.assertRaises(OperationError) as seen:
                self.run_plan()
            texts = [str(seen.exception), *logs.output, (self.folder / "vnf-1.jsonl").read_text()]
            for text in texts:
                self.assertLess(len(text), 50_000)
            self.assertTrue(all(text.isprintable() for text in texts[:-1]))

    def test_an_error_that_makes_its_text_itself_tells_no_secret(self) -> None:
        """As those of YAML, which quote what they could not read, and of the system do."""
        for more in ("in: [Pl4nted, b: }", "\0Pl4nted"):
            with self.subTest(more), self.assertRaises(OperationError) as seen:
                self.run_plan(Reads(f"a: b\n{more}\n"))
            shown = "".join(traceback.format_exception(seen.exception))
            self.assertNotIn("Pl4nted", shown + (self.folder / "vnf-1.jsonl").read_text())
            self.assertIn("***", str(seen.exception))

    def test_an_unexpected_error_is_told_with_its_type(self) -> None:
        for cause, text in (
            (KeyError("nodeInfo"), "[KV-UNEXPECTED] KeyError: 'nodeInfo'"),
            (StopIteration(), "[KV-UNEXPECTED] StopIteration"),
        ):
            self.errors["server-1"] = cause
            with self.assertRaises(OperationError) as caught:
                self.run_plan()
            self.assertTrue(str(caught.exception).endswith(f"phase 'connect': {text}"))
            last = (self.folder / "vnf-1.jsonl").read_text().splitlines()
            self.assertIn(text, [json.loads(line).get("error") for line in last])

    def test_a_lane_ends_with_its_first_host_that_fails(self) -> None:
        phase = Touch(fail_on=["vnfc-2"])
        with (
            self.operation() as operation,
            self.assertRaisesRegex(OperationError, "vnfc-2.*not tried after that: .*vnfc-3"),
        ):
            operation.run(Context(), in_turn(operation.connect(NODES), phase))
        self.assertEqual(["vnfc-1"], phase.ran)
        self.assertNotIn("vnfc-3", [vnfc for title, vnfc, _ in self.trace() if title == "touch"])

    def test_a_host_goes_on_when_the_hosts_that_it_needs_have_ended(self) -> None:
        """The first host waits, in each work, for the third, which needs only itself."""
        waited = threading.Event()

        class Wait(Agree):
            title = "wait"

            def check(self, host: Host, context: Context) -> None:
                assert waited.wait(60)

        class Go(Agree):
            title = "go"

            def check(self, host: Host, context: Context) -> None:
                waited.set()

        with self.operation() as operation:
            first, second, third = operation.connect(NODES)
            operation.run(
                Context(),
                on([first], Wait()),
                on([second, third], Agree(), after=()),
                on([third], Go(), after=[second]),
                on([second], Touch(), after=[first]),
            )
        lines = (self.folder / "vnf-1.jsonl").read_text().splitlines()
        records = {r["phase"]: r for r in map(json.loads, lines)}
        self.assertNotIn("after", records["wait"])
        self.assertIn("vnfc-1", records["touch"]["after"])

    def test_nothing_overtakes_a_phase_that_waits_for_all(self) -> None:
        first, second, third = (Host(node, FakeSession()) for node in NODES)
        works = on([first], Agree()), on([second], Agree()), on([third], Touch(), after=())
        tasks = plan(works)
        openings = [task for task in tasks if not task.lane]
        self.assertEqual([set(), {*tasks[1:2], openings[0]}, {openings[1]}],
                         [task.needs for task in openings])

    def test_what_hosts_have_in_common_is_made_first_and_removed_last(self) -> None:
        for fails, ends in ((False, ["vnfc-1", "vnfc-2", "removed", "next"]),
                            (True, ["vnfc-1", "removed"])):
            told: list[str] = []
            # One thread is enough: who asks needs no second one for the answer.
            with contextlib.suppress(OperationError), self.operation(threads=1) as operation:
                hosts = operation.connect(NODES[:2])
                share, tell = Share(told, fails), Tell(told)
                operation.run(Context(), in_turn(hosts, share), on(hosts[:1], tell, after=hosts))
            self.assertEqual(["made for vnfc-1", *ends], told)

    def test_an_error_of_a_phase_itself_is_told_when_the_machines_have_ended(self) -> None:
        told: list[str] = []
        is_refused = threading.Event()

        class Refuse(Share):
            @contextlib.contextmanager
            def around(self, context: Context, ask: Ask) -> Iterator[Step[Context]]:
                is_refused.set()
                raise ValueError("no file /etc/Pl4nted")
                yield self.step

        class Late(Agree):
            title = "late"

            def check(late, host: Host, context: Context) -> None:  # noqa: N805
                assert is_refused.wait(60)
                told.append(f"{[session.closed for session in self.sessions]}")
                raise CommandFailed("late", 1, "")

        with self.assertRaises(OperationError) as caught, self.operation() as operation:
            hosts = operation.connect(NODES)
            operation.run(
                Context(), on(hosts[:1], Late()), on(hosts[1:2], Refuse(told, False), after=()),
                on(hosts[1:], Tell(told), after=hosts[1:]),
            )
        self.assertEqual(["[0, 0, 0]"], told)
        self.assertRegex(
            str(caught.exception),
            r"vnfc-1.*'late'.* \| .*vnfc-2.*'share': \[KV-UNEX.* ValueError: no file /etc/[*]+$",
        )

    def test_a_phase_without_hosts_is_told(self) -> None:
        with self.assertLogs("mgmt_drivers.engine.operation", "DEBUG") as logs:
            self.operation().run(Context(), on([], Touch()))
        self.assertIn("phase 'touch' is left out: no machine for it", logs.output[0])

    def test_lanes(self) -> None:
        hosts = [Host(node, FakeSession()) for node in NODES]
        first, second, third = hosts

        def lanes(work: Work[Context]) -> list[list[Host]]:
            return [list(lane) for lane in work.lanes]

        self.assertEqual([[first], [second], [third]], lanes(on(hosts, Touch())))
        self.assertEqual([hosts], lanes(in_turn(hosts, Touch())))
        self.assertEqual([[first, third], [second]], lanes(in_lanes(2, hosts, Touch())))
        self.assertEqual([[first], [second], [third]], lanes(in_lanes(5, hosts, Touch())))
        for work in (on([], Touch()), in_turn([], Touch()), in_lanes(2, [], Touch())):
            self.assertEqual([], lanes(work))

    def test_an_unreachable_machine_ends_it_before_anything_changes(self) -> None:
        self.cut_off(2)
        phase = Touch()
        with self.assertRaisesRegex(OperationError, r"'connect': \[KV-SSH\] no route to vnfc-2"):
            self.run_plan(phase)
        self.assertEqual([], phase.ran)
        self.assertEqual([1, 1], [session.closed for session in self.sessions])

    def test_a_machine_that_heat_could_not_create(self) -> None:
        lost = Node("vnfc-9", "VDU1", "", {})
        with (
            self.operation() as operation,
            self.assertRaisesRegex(InventoryError, "could not create VDU1 .*--long stack-1"),
        ):
            operation.connect([lost])

    def test_a_machine_that_does_not_answer_is_waited_for_once(self) -> None:
        def nobody(host: Host) -> None:
            raise CommandFailed("be well", 1, "")

        def the_third(host: Host) -> None:
            if host.node is not NODES[2]:
                raise CommandFailed("be the third", 1, "")

        self.cut_off(1)
        with self.operation() as operation:
            self.assertIs(NODES[2], operation.choose("choose", NODES, [nobody, the_third]).node)
            found = operation.connect_to_running(NODES)
            self.assertEqual(NODES[1:], [host.node for host in found])
        self.assertEqual(1, self.trace().count(("connect", "vnfc-1", "failed")))

        with self.operation() as operation, self.assertRaises(OperationError) as caught:
            operation.choose("choose", NODES, [nobody, nobody])
        for words in ("no route to vnfc-1", "vnfc-2", "vnfc-3", "`be well`"):
            self.assertIn(words, str(caught.exception))

    def test_what_answers_in_the_place_of_a_machine_is_not_passed_over(self) -> None:
        self.errors["server-1"] = WrongHostKey("vnfc-1 shows another host key")
        with (
            self.operation() as operation,
            self.assertRaisesRegex(OperationError, "another host key"),
        ):
            operation.choose("choose", NODES, [lambda host: None])
        self.assertEqual([], self.sessions)

    def test_a_machine_is_one_operations_alone(self) -> None:
        self.holders["server-2"] = "scale of VNF vnf-1, since noon"
        for connect in ("connect", "connect_to_running"):
            with self.operation() as operation, self.assertRaisesRegex(
                OperationError, "vnfc-2.*another operation works on .*: scale of VNF vnf-1, since"
            ):
                getattr(operation, connect)(NODES)
        with self.operation() as operation, self.assertRaisesRegex(OperationError, "vnfc-2"):
            operation.choose("choose", NODES[1:], [lambda host: None])
        self.assertEqual({1}, {session.closed for session in self.sessions})
        words = {(held[0], held[1], held[2].partition(" since")[0])
                 for session in self.sessions for held in session.held}
        path = "/var/lib/tacker-mgmt-drivers/operation.lock"
        self.assertEqual({("hold-lock", path, "scale of VNF vnf-1,")}, words)

    def test_a_question_is_traced_and_answered(self) -> None:
        with self.operation() as operation:
            hosts = operation.connect(NODES)
            answers = operation.ask_each("ask", hosts, lambda host: host.node.vnfc_id)
            self.assertEqual(["vnfc-1", "vnfc-2", "vnfc-3"], answers)
            self.assertIn(("ask", "vnfc-2", "checked"), self.trace())
            with self.assertRaisesRegex(OperationError, r"'ask again': \[KV-SSH\] 1 is not 2"):
                operation.ask("ask again", hosts[0], self.failing)

    def failing(self, host: Host) -> None:
        raise ConnectionFailed("1 is not 2")

    def test_host_keys_are_saved_at_once(self) -> None:
        with self.operation() as operation:
            operation.connect(NODES)
            self.assertEqual(3, len(self.store.load("ssh_host_keys", {})))

    def test_a_host_key_that_has_vanished(self) -> None:
        """A new machine has none, and the parameters may have the keys of others."""
        with self.operation() as operation:
            operation.connect(NODES)
        for kind, target, known, number in (
            ("scale out", "", (), 1), ("scale out", "vnfc-2", (), 0), ("instantiate", "", (), 0),
            ("heal", "", (), 0), ("scale out", "", (KnownKey("SHA256:x"),), 0),
        ):
            keys = self.store.load("ssh_host_keys", {})
            keys.pop("server-2")
            self.store.save("ssh_host_keys", keys)
            targets = frozenset([target] if target else ())
            with (
                self.subTest(f"{kind} {target} {known}"),
                self.assertLogs("mgmt_drivers", "DEBUG") as logs,
                self.operation(kind=kind, targets=targets, host_keys=known) as operation,
            ):
                logging.getLogger("mgmt_drivers").debug("something")
                operation.connect(NODES)
            told = [line for line in logs.output if "no SSH host key" in line]
            self.assertEqual(number, len(told), told)
            self.assertEqual(number, str(told).count("vnfc-2"))

    def test_keys_that_cannot_be_saved_hide_no_other_error(self) -> None:
        self.store = _FullStore()
        with self.assertLogs("mgmt_drivers", "WARNING"), self.assertRaises(OperationError):
            self.run_plan(Touch(fail_on=("vnfc-1",)))
        with self.assertLogs("mgmt_drivers", "WARNING"), self.assertRaises(OSError):
            self.run_plan(Touch())

    def test_a_trace_is_not_everybodys(self) -> None:
        self.run_plan(Agree())
        trace = self.folder / "vnf-1.jsonl"
        self.assertEqual(0, trace.stat().st_mode & 0o027)

    def test_a_trace_that_cannot_be_written_fails_nothing(self) -> None:
        blocked = self.folder / "file"
        blocked.touch()
        with (
            self.assertLogs("mgmt_drivers.engine.trace", "WARNING"),
            self.operation(blocked) as operation,
        ):
            phase = Touch()
            hosts = operation.connect(NODES)
            operation.run(Context(outdated=["vnfc-1"]), on(hosts, phase))
        self.assertEqual(["vnfc-1"], phase.ran)
