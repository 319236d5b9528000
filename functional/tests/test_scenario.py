"""What is saved of machines when a scenario fails, and what ends a run."""

import os
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from functional import scenario
from functional.scenario import Scenario
from tools.client.machines import Remote


class InterruptTest(unittest.TestCase):
    def test_ctrl_c_ends_the_run_though_the_cleanup_fails(self) -> None:
        """It comes in the middle of an operation, whose VNF cannot be removed."""

        class Interrupted(Scenario):
            def test_it(self) -> None:
                self.addCleanup(self.fail, "Tacker works on it")
                raise KeyboardInterrupt

        with (
            mock.patch.multiple(scenario, cloud=mock.Mock(), tacker=mock.Mock(), log=mock.Mock()),
            mock.patch.object(Interrupted, "save_logs_of_machines") as save,
            self.assertRaises(KeyboardInterrupt),
        ):
            Interrupted("test_it").run()
        save.assert_not_called()


class SaveLogsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.logs = Path(folder.name)
        for patch in (
            mock.patch.dict(os.environ, {"FUNCTIONAL_LOGS": folder.name}),
            mock.patch.object(
                scenario.stacks, "servers", lambda *_: [SimpleNamespace(name="vdu", id="s1")]
            ),
            mock.patch.object(scenario.stacks, "addresses", lambda *_: ["192.0.2.5"]),
        ):
            patch.start()
            self.addCleanup(patch.stop)

    def saved(self, read_console: Any, read_journal: Any) -> dict[str, str]:
        failed = Scenario("id")
        failed.name = "test_it"
        failed.vnfs = [mock.Mock(id="vnf")]
        failed.cloud = mock.Mock()
        failed.cloud.compute.get_server_console_output = read_console
        with mock.patch.object(Remote, "journal", read_journal):
            failed.save_logs_of_machines()
        return {path.name: path.read_text() for path in self.logs.glob("test_it-*")}

    def test_consoles_and_journals(self) -> None:
        saved = self.saved(lambda server: {"output": f"console {server}"}, lambda self: "journal")
        expected = {
            "test_it-vdu-console.log": "console s1", "test_it-192.0.2.5-journal.log": "journal"
        }
        self.assertEqual(expected, saved)

    def test_a_machine_without_a_login_has_a_console(self) -> None:
        def refuse(machine: Remote) -> str:
            raise OSError("no login")

        saved = self.saved(lambda server: {"output": "panic"}, refuse)
        self.assertEqual({"test_it-vdu-console.log": "panic"}, saved)
        log = (self.logs / "scenario.log").read_text()
        self.assertIn("no 192.0.2.5-journal: OSError: no login", log)
