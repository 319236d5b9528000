"""The conductor dies at a command of an operation, and somebody asks for another operation."""

from mgmt_drivers.testing.kills import STORIES, VERSION, kills
from mgmt_drivers.testing.simulated_cloud import PARAMS, SimulatedClusterTest

_STEP = 29  # a sample of the commands; "python -m tools.benchmark kills" tries each


class KillsTest(SimulatedClusterTest):
    def test_another_operation_ends_well(self) -> None:
        self.params = {**PARAMS, **VERSION}
        for name in STORIES:
            count = 0
            for told, end in kills(self, name, _STEP):
                with self.subTest(told):
                    end()
                count += 1
            self.assertGreater(count, 1, name)
