"""The command that runs the scenarios."""

import argparse
import unittest
from unittest import mock

from tools.scenarios import __main__ as program


class RunTest(unittest.TestCase):
    def run_scenarios(self, preflight: int, skip: bool = False) -> tuple[int, bool]:
        """The exit status, and whether the scenarios ran."""
        options = argparse.Namespace(filters=[], long=False, skip_preflight=skip)
        with (
            mock.patch.object(program, "run_preflight", return_value=preflight),
            mock.patch.object(program, "run_scenarios", return_value=0) as run,
        ):
            return program._run(options, {}), run.called

    def test_a_cloud_that_lacks_something_runs_no_scenario(self) -> None:
        self.assertEqual((1, False), self.run_scenarios(preflight=1))
        self.assertEqual((0, True), self.run_scenarios(preflight=0))

    def test_the_preflight_can_be_skipped(self) -> None:
        self.assertEqual((0, True), self.run_scenarios(preflight=1, skip=True))
