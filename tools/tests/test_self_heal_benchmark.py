"""The table of the benchmark of self-healing, and its verdict."""

import contextlib
import unittest
from typing import Any
from unittest import mock

from tools.benchmark import self_heal
from tools.benchmark.self_heal import Result, Run, is_good, table
from tools.client.errors import ClientError
from tools.client.node_faults import FAULTS, Fault, Machine
from tools.client.poll import Availability, Outages


def healed(whole: float, **changes: object) -> Result:
    times = {"detected": 40.0, "begun": 60.0, "ended": whole - 5, "whole": whole, "silence": 2.5}
    return Result(**{"fault": "kill of a worker", "machines": ["w"], **times, **changes})  # type: ignore[arg-type]


class TableTest(unittest.TestCase):
    def test_median_and_worst_of_each_kind(self) -> None:
        _, worker, other, every, *_ = table([healed(100), healed(300), Result("cut", ["w"])])
        words = ["2", "2", "40.0", "40.0", "200.0", "300.0", "2.5", "2.5", "kill"]
        self.assertEqual(words, worker.split()[:9])
        self.assertEqual(["1", "0", "-", "-"], other.split()[:4])
        self.assertEqual(["3", "2"], every.split()[:2])

    def test_a_run_that_ended_at_once_has_a_table(self) -> None:
        self.assertIn("0 of 0 objects lost", "\n".join(table([])))

    def test_an_error_is_told(self) -> None:
        rows = table([healed(100, error="the guard rail held")])
        self.assertIn("1 faults after which somebody helped", rows[-2])
        self.assertEqual("  kill of a worker: the guard rail held", rows[-1])

    def test_the_goals(self) -> None:
        self.assertTrue(is_good([healed(100), healed(300), healed(900)]))
        self.assertFalse(is_good([healed(301)]))
        for fault in ({"lost": 1}, {"wrong": ["v"]}, {"error": "e"}):
            self.assertFalse(is_good([healed(100, **fault)]), fault)


class RoomTest(unittest.TestCase):
    """Two of five machines may be ill, or healed within 300 s."""

    def waited(self, kind: str, *healed: float) -> float:
        (fault,) = (fault for fault in FAULTS if fault.name == kind)
        run = Run.__new__(Run)
        run._size, run._healed = 5, [*healed]
        with mock.patch.object(self_heal, "time") as time:
            time.time.return_value = 1000.0
            run._await_room(fault)
        return sum(call.args[0] for call in time.sleep.call_args_list)

    def test_one_machine_after_another_needs_no_wait(self) -> None:
        self.assertEqual(0, self.waited("kill of a worker"))
        self.assertEqual(0, self.waited("kill of a worker", 900.0))

    def test_a_third_machine_waits_for_the_first(self) -> None:
        self.assertEqual(200, self.waited("kill of a worker", 900.0, 990.0))
        self.assertEqual(0, self.waited("kill of a worker", 100.0, 990.0))

    def test_a_host_waits_for_every_machine(self) -> None:
        self.assertEqual(290, self.waited("compute host down", 900.0, 990.0))
        self.assertEqual(0, self.waited("compute host down", 100.0))


class RunTest(unittest.TestCase):
    """Faults of which one ends badly; a heal is counted once."""

    def setUp(self) -> None:
        self.listed: list[dict[str, Any]] = []
        vnf = mock.Mock(id="v1", occurrences=lambda: self.listed, vnfcs=lambda: [])
        vnf.occurrence = lambda id_: next(o for o in self.listed if o["id"] == id_)
        self.run_ = Run.__new__(Run)
        self.run_._site = mock.Mock(vnf=vnf)
        self.run_._prometheus, self.run_._objects = mock.Mock(), mock.MagicMock(written=3)
        self.run_._objects.nodes.return_value = {"n1": True}
        self.run_._objects.try_lost.return_value = set()
        self.run_._chance, self.run_._size = mock.Mock(), 1
        self.run_._known, self.run_._healed, self.run_._failures = set(), [], 0
        seen = mock.MagicMock()
        seen.return_value.__enter__.return_value = Availability(Outages("/"), Outages("/"))
        patch = mock.patch.multiple(self_heal, poll_api=seen, _QUIET=0)
        patch.start()
        self.addCleanup(patch.stop)

    def strike(self, *chosen: Machine, error: Exception | None = None) -> Result:
        choose = mock.Mock(return_value=[*chosen], side_effect=error)
        fault = Fault("reboot", choose, lambda *_: contextlib.nullcontext(), heals=False)
        return self.run_._strike(fault)

    def test_a_fault_that_cannot_strike_costs_one_result(self) -> None:
        result = self.strike(error=KeyError("server"))
        self.assertEqual("KeyError: 'server'", result.error)
        self.assertEqual("", self.strike().error)

    def test_three_in_a_row_end_the_run(self) -> None:
        for _ in range(3):
            self.strike(error=OSError("no route"))
        with self.assertRaisesRegex(ClientError, "three faults in a row"):
            self.strike()

    def test_a_wrong_heal_counts_once_and_takes_room(self) -> None:
        self.listed.append({
            "id": "o1", "operation": "HEAL", "operationState": "COMPLETED",
            "isAutomaticInvocation": True, "stateEnteredTime": "2026-01-01T00:02:00Z",
            "operationParams": {"vnfcInstanceId": ["c1"]},
        })
        first, second = self.strike(), self.strike()
        self.assertEqual((["c1"], []), (first.wrong, second.wrong))
        self.assertEqual(1, len(self.run_._healed))
        self.assertEqual(3, second.written)


class ClusterOfAnOperatorTest(unittest.TestCase):
    """A cluster that was not made for the benchmark is struck only if it heals itself."""

    def find(self, name: str, **shown: Any) -> str:
        client = mock.Mock()
        client.list_vnf_instances.return_value = [{"id": "1", "vnfInstanceName": "prod"}]
        client.show_vnf_instance.return_value = shown
        with self_heal._cluster(client, mock.Mock(), name) as vnf:
            return vnf.id

    def test_it_is_found_by_name_and_by_id(self) -> None:
        heals = {"vnfConfigurableProperties": {"isAutohealEnabled": True}}
        self.assertEqual(["1", "1"], [self.find(name, **heals) for name in ("prod", "1")])

    def test_one_that_does_not_heal_itself_is_refused(self) -> None:
        for properties in ({}, {"isAutohealEnabled": False}):
            with self.assertRaisesRegex(ClientError, "Properties.isAutohealEnabled to true"):
                self.find("prod", vnfConfigurableProperties=properties)
        with self.assertRaisesRegex(ClientError, "no VNF instance other"):
            self.find("other")
