"""Operations that are predicted, and what contradicts that."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from functional import dry_run
from functional.dry_run import DryRunVnf
from tools.client.api import V2
from tools.client.lcm import Vnf


class DryRunVnfTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        variables = {"FUNCTIONAL_LOGS": folder.name, "FUNCTIONAL_SHOW_TRACE": "echo trace of"}
        self.ran: list[tuple[str, ...]] = []
        self.requests: list[Any] = []
        self.traces: list[str] = []
        self.metadata = {"a": "b"}
        for patch in (
            mock.patch.dict(os.environ, variables),
            mock.patch.object(dry_run, "_run_tool", self.run_tool),
            mock.patch.object(Vnf, "show", lambda vnf: {"metadata": dict(self.metadata)}),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        self.status = {"instantiate": 0, "scale": 0, "heal": 0, "compare": 0}

    def run_tool(self, *words: str) -> "subprocess.CompletedProcess[str]":
        self.ran.append(words[:5])
        if words[0] == "compare":
            self.assertEqual("a report", Path(words[1]).read_text())
            self.traces.append(Path(words[2]).read_text())
        else:
            self.requests.append(json.loads(Path(words[-1]).read_text()))
        return subprocess.CompletedProcess(words, self.status[words[0]], "a report", "why")

    def heal(self, state: str) -> dict[str, Any]:
        vnf = DryRunVnf(mock.Mock(), "vnf-1", "scenario", V2())
        with mock.patch.object(Vnf, "heal", lambda *_: {"operationState": state}):
            return vnf.heal({"vnfcInstanceId": ["x"]})

    def test_what_is_as_predicted(self) -> None:
        self.assertEqual({"operationState": "COMPLETED"}, self.heal("COMPLETED"))
        self.assertEqual(("heal", "--vnf", "vnf-1", "--api", "2"), self.ran[0])
        (request,) = self.requests
        self.assertEqual(["x"], request["vnfcInstanceId"])
        self.assertIn("lcm-operation-user-data", request["additionalParams"])
        self.assertEqual(["trace of vnf-1\n"], self.traces)

    def test_an_instantiation_takes_its_package(self) -> None:
        client = mock.Mock()
        client.create_vnf_instance.return_value = {"id": "vnf-1"}
        package = mock.Mock(csar=Path("cluster.zip"))
        vnf = DryRunVnf.create(client, package, "scenario")
        with mock.patch.object(Vnf, "instantiate", lambda *_: {"operationState": "COMPLETED"}):
            vnf.instantiate({"flavourId": "simple"})
        self.assertEqual(("instantiate", "--package", "cluster.zip", "--api", "1"),
                         self.ran[0])
        self.assertEqual([{"flavourId": "simple"}], self.requests)

    def test_what_is_not(self) -> None:
        self.status["compare"] = 1
        with self.assertRaisesRegex(AssertionError, "is not what was predicted: why"):
            self.heal("COMPLETED")

    def test_what_is_refused(self) -> None:
        self.status["heal"] = 1
        self.heal("FAILED_TEMP")
        with self.assertRaisesRegex(AssertionError, "was predicted to be refused"):
            self.heal("COMPLETED")
        self.assertEqual([], self.traces)

    def test_a_dry_run_that_did_not_find_out(self) -> None:
        for status in (2, 3, -9):
            self.status["heal"] = status
            for state in ("FAILED_TEMP", "COMPLETED"):
                with self.assertRaisesRegex(AssertionError, f"no dry run of heal: status {status}"):
                    self.heal(state)

    def test_a_dry_run_that_changes_something(self) -> None:
        shown = iter([{"metadata": {}}, {"metadata": {"a": "key"}}])
        with (
            mock.patch.object(Vnf, "show", lambda vnf: next(shown)),
            self.assertRaisesRegex(AssertionError, "dry run has changed the VNF instance"),
        ):
            self.heal("COMPLETED")
