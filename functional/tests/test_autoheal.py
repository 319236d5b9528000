"""The rules that the scenario of self-healing changes."""

import unittest

from functional.full.test_autoheal import faster

_RULES = """
  avg by (vnf_instance_id) (k8s_vnf:worker_cpu) > 0.8
  and changes(k8s_vnf:workers[10m]) == 0
for: 3m
  / (count by (vnf_instance_id) (k8s_vnf:worker_cpu) - 1) < 0.5
  and changes(k8s_vnf:workers[10m]) == 0
for: 15m
"""


class RulesTest(unittest.TestCase):
    def test_the_limits_and_times(self) -> None:
        changed = faster(_RULES, {"busy": 0.6, "idle": 0.9})
        for text in ("> 0.60\n", "< 0.90\n"):
            self.assertIn(text, changed)
        self.assertEqual((2, 2), (changed.count("for: 1m"), changed.count("workers[1m]")))

    def test_rules_without_what_is_changed(self) -> None:
        with self.assertRaisesRegex(AssertionError, "for:"):
            faster(_RULES.replace("for: ", "hold: "), {"busy": 0.6, "idle": 0.9})
