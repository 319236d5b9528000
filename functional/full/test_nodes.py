"""Nodes are scaled and healed in every way, each way in an operation of its own, through v1."""

import subprocess
import sys

from functional import guide_outputs
from functional.nodes_scenario import NodesScenario
from tools.client.config import CONFIG


class NodesThroughV1(NodesScenario):
    """The runtime is containerd."""

    image = CONFIG.prepared_image

    def test_nodes_through_v1(self) -> None:
        vnf = self.scale_and_heal_nodes()
        self.check_guide_output_of_vim()
        self.check_terminate(vnf, self.check_cnf(vnf))

    def check_guide_output_of_vim(self) -> None:
        words = ["vim", "show", f"vim-{self.name}"]
        for column in ("name", "type", "status", "auth_url"):
            words += ["-c", column]
        command = [sys.executable, "-m", "openstackclient.shell", *words]
        seen = subprocess.run(command, check=True, capture_output=True, text=True)
        guide_outputs.compare("vim", f"openstack {' '.join(words)}", seen.stdout)
