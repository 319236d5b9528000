"""Messages that scenarios look for, as the drivers write them on the simulated cluster."""

import logging

from functional.full import test_slow_disks
from mgmt_drivers.testing.simulated_cloud import MASTERS, SimulatedClusterTest


class MessagesTest(SimulatedClusterTest):
    def test_warning_of_a_slow_disk(self) -> None:
        self.build(is_clustered=False)
        logging.disable(logging.NOTSET)
        self.machine(MASTERS[1]).sync_time = 200.6
        with self.assertLogs("mgmt_drivers.cluster.etcd", "WARNING") as logs:
            self.instantiate(self.services())
        self.assertRegex(logs.output[0], test_slow_disks.warning_of(MASTERS[1]))
        self.assertNotRegex(logs.output[0], test_slow_disks.warning_of(MASTERS[0]))
