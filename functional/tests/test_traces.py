"""Traces that scenarios look for, as the drivers write it on the simulated cluster."""

import fnmatch
import logging

from functional import cluster_scenario
from functional.full import test_slow_disks
from mgmt_drivers.testing.simulated_cloud import MASTERS, WORKERS, SimulatedClusterTest


class TracesTest(SimulatedClusterTest):
    def test_warning_of_a_slow_disk(self) -> None:
        self.build(is_clustered=False)
        logging.disable(logging.NOTSET)
        self.machine(MASTERS[1]).sync_time = 200.6
        with self.assertLogs("mgmt_drivers.cluster.etcd", "WARNING") as logs:
            self.instantiate(self.services())
        self.assertRegex(logs.output[0], test_slow_disks.warning_of(MASTERS[1]))
        self.assertNotRegex(logs.output[0], test_slow_disks.warning_of(MASTERS[0]))

    def test_marker_of_a_node(self) -> None:
        self.build(is_clustered=False)
        for machine in self.world.machines.values():
            self.assertEqual([], fnmatch.filter(machine.files, cluster_scenario.MEMBER))
        self.instantiate(self.services())
        for address in (*MASTERS, *WORKERS):
            files = self.machine(address).files
            self.assertEqual(1, len(fnmatch.filter(files, cluster_scenario.MEMBER)))
