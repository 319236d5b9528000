"""The gate's playbooks, on a cloud that is there instead of the devstack that they would make."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from functional.scenario import Scenario
from tools.client.config import CHECKOUT, CONFIG
from tools.client.log import log, step

_PLAYBOOKS = (
    "install_drivers.yaml", "prepare_cloud.yaml", "scenarios.yaml", "consoles.yaml", "logs.yaml"
)
# The checkout may belong to another user than root.
_GIT_CONFIG = "[safe]\n    directory = *\n"


class Playbooks(Scenario):
    """They install the drivers, run a scenario, and collect its log.

    In a clone of this checkout, whose log and environments this run uses.
    """

    def test_playbooks(self) -> None:
        if not CONFIG.playbooks:
            self.skipTest("FUNCTIONAL_PLAYBOOKS is not set: nothing runs them on this cloud")
        if not shutil.which("ansible-playbook"):
            self.skipTest("ansible-playbook is missing: pip install ansible")
        folder = Path(self.enter(tempfile.TemporaryDirectory()))
        git_config, clone = folder / "gitconfig", folder / "clone"
        git_config.write_text(_GIT_CONFIG)
        subprocess.run(
            ["git", "clone", "--quiet", CHECKOUT, clone],
            check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": str(git_config)},
        )  # fmt: skip
        for playbook in _PLAYBOOKS:
            with step(f"run {playbook}"):
                self.run_playbook(clone, playbook)
        collected = clone / "build/zuul-logs/logs/scenario.log"
        self.assertIn("test_life_of_a_registry", collected.read_text())

    def run_playbook(self, clone: Path, name: str) -> None:
        outside_tox = {k: v for k, v in os.environ.items() if not k.startswith("TOX_")}
        ran = subprocess.run(
            f"{CONFIG.playbooks} {name}",
            shell=True, cwd=clone, env=outside_tox, capture_output=True, text=True, timeout=1200,
        )  # fmt: skip
        log(ran.stdout)
        self.assertEqual(0, ran.returncode, f"{ran.stdout}{ran.stderr}")
