"""The wrapper around runc: what it changes where CAP_SYS_RESOURCE is missing."""

import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.devcloud.node import runc


def process() -> dict[str, object]:
    names = ["CAP_CHOWN", "CAP_SYS_RESOURCE"]
    return {"oomScoreAdj": -998, "capabilities": {"bounding": [*names], "effective": [*names]}}


class RuncTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.config = self.folder / "config.json"
        self.config.write_text(json.dumps({"process": process()}))

    def run_wrapper(self, capable: bool, *arguments: str) -> None:
        with (
            mock.patch.object(runc, "_is_capable", return_value=capable),
            mock.patch.object(runc.os, "execv") as execv,
        ):
            runc.main(list(arguments))
        execv.assert_called_once_with(runc.REAL, [runc.REAL, *arguments])

    def test_a_bundle_loses_what_cannot_be_given(self) -> None:
        self.run_wrapper(False, "--root", "/r", "create", "--bundle", str(self.folder), "id")
        seen = json.loads(self.config.read_text())["process"]
        self.assertEqual(
            {"capabilities": {"bounding": ["CAP_CHOWN"], "effective": ["CAP_CHOWN"]}}, seen
        )

    def test_a_process_in_a_container_too(self) -> None:
        path = self.folder / "process.json"
        path.write_text(json.dumps(process()))
        self.run_wrapper(False, "exec", f"--process={path}", "id")
        self.assertNotIn("oomScoreAdj", json.loads(path.read_text()))

    def test_nothing_is_changed_otherwise(self) -> None:
        before = self.config.read_text()
        self.run_wrapper(True, "create", "--bundle", str(self.folder), "id")
        self.run_wrapper(False, "delete", "id")
        self.assertEqual(before, self.config.read_text())
