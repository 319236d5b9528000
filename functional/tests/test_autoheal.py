"""The rules that the scenario of self-healing changes."""

import unittest

from functional.full.test_autoheal import faster
from tools.client.config import CHECKOUT

_RULES = (CHECKOUT / "tools/monitoring/files/rules/k8s_vnf.yml").read_text()


class RulesTest(unittest.TestCase):
    def test_the_limits_and_times(self) -> None:
        changed = faster(_RULES, {"busy": 0.6, "idle": 0.9})
        for text in ("> 0.60\n", "< 0.90\n"):
            self.assertIn(text, changed)
        self.assertEqual((4, 2), (changed.count("for: 1m"), changed.count("workers[1m]")))

    def test_rules_without_what_is_changed(self) -> None:
        with self.assertRaisesRegex(AssertionError, "for:"):
            faster(_RULES.replace("for: ", "hold: "), {"busy": 0.6, "idle": 0.9})
