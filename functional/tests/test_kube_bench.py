"""Results of kube-bench, and their comparison with the list of items that fail by design."""

import json
import os
import tempfile
import unittest
from dataclasses import replace
from typing import Any
from unittest import mock

from functional import kube_bench
from functional.kube_bench import Part


def item(number: str, status: str) -> dict[str, Any]:
    return {
        "test_number": number,
        "test_desc": f"Ensure {number} (Automated)",
        "audit": "stat -c permissions=%a /etc/kubernetes/x",
        "AuditEnv": "",
        "AuditConfig": "",
        "type": "",
        "remediation": "chmod 600 /etc/kubernetes/x\n",
        "test_info": ["chmod 600 /etc/kubernetes/x\n"],
        "status": status,
        "actual_value": "permissions=644",
        "scored": status != "WARN",
        "IsMultiple": False,
        "expected_result": "permissions has permissions 644, expected 600 or more restrictive",
    }


def part(name: str, *sections: list[dict[str, Any]]) -> dict[str, Any]:
    states = [result["status"] for section in sections for result in section]
    return {
        "id": "1",
        "version": "cis-1.9",
        "detected_version": "none",
        "text": "Control Plane Security Configuration",
        "node_type": name,
        "tests": [
            {"section": "1.1", "type": "", "desc": "Files", "results": results}
            for results in sections
        ],
        **{f"total_{state}": states.count(state.upper()) for state in ("pass", "fail", "warn")},
        "total_info": 0,
    }


def output(*parts: dict[str, Any]) -> str:
    return json.dumps({"Controls": parts, "Totals": {"total_pass": 1}})


class ResultsTest(unittest.TestCase):
    def setUp(self) -> None:
        failed = {number: "Ensure" for number in kube_bench.by_design()}
        self.part = Part("master", passed=47, failed=failed, warned=8)

    def test_failures_of_all_sections(self) -> None:
        sections = [item("1.1.1", "PASS"), item("1.1.12", "FAIL")], [item("1.2.5", "FAIL")]
        seen = kube_bench.read(output(part("master", *sections), part("node", [item("4", "WARN")])))
        failed = {number: f"Ensure {number} (Automated)" for number in ("1.1.12", "1.2.5")}
        self.assertEqual([Part("master", 1, failed, 0), Part("node", 0, {}, 1)], seen)
        self.assertIn("1 pass,   2 fail,   0 warn\n  1.1.12 Ensure", str(seen[0]))

    def test_items_that_fail_by_design(self) -> None:
        self.assertIn("1.1.12", self.part.failed)
        kube_bench.compare([self.part, Part("node", 19, {}, 5)])

    def test_another_item_fails(self) -> None:
        with self.assertRaisesRegex(AssertionError, r"does not list: \['4.2.1 Ensure that"):
            kube_bench.compare([self.part, Part("node", 18, {"4.2.1": "Ensure that"}, 5)])

    def test_a_listed_item_passes(self) -> None:
        first = kube_bench.by_design()[0]
        others = {number: text for number, text in self.part.failed.items() if number != first}
        with self.assertRaisesRegex(AssertionError, rf"do not fail: \['{first}'\]"):
            kube_bench.compare([replace(self.part, failed=others)])

    def test_a_part_that_did_not_run(self) -> None:
        machine = mock.Mock(address="192.0.2.1")
        machine.run.return_value = output(part("master", [item("1.1.12", "FAIL")]))
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.dict(os.environ, {"FUNCTIONAL_LOGS": folder}),
            self.assertRaisesRegex(AssertionError, "a part of the benchmark is missing"),
        ):
            kube_bench.check(machine, machine)
