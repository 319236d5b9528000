"""The table of the benchmark of self-healing, and its verdict."""

import unittest

from tools.benchmark.self_heal import Result, is_good, table


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
