"""A package with a storage server, and a request without: its machine is left alone."""

import logging

from mgmt_drivers.operations import scale_in, scale_out
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    PARAMS,
    STORAGE,
    WORKERS,
    SimulatedClusterTest,
    new_node,
)

_OF_STORAGE = ("storage_server", "pv_registration_params")


class LeftAloneTest(SimulatedClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.params = {k: v for k, v in PARAMS.items() if k not in _OF_STORAGE}

    def assert_left_alone(self) -> None:
        self.assertNotIn(STORAGE, self.connections)
        self.assertEqual({}, self.machine(STORAGE).files)

    def test_instantiate_says_so(self) -> None:
        self.build(is_clustered=False)
        logging.disable(logging.NOTSET)
        with self.assertLogs("mgmt_drivers.operations.opening", "INFO") as logs:
            self.instantiate(self.services())
        logging.disable(logging.CRITICAL)
        self.assertIn("VDU storageNode is not set up, since the request has no storage_server",
                      logs.output[0])
        self.assert_whole(3, 2)
        self.assertEqual({}, self.world.volumes)
        self.assert_left_alone()

    def test_operations_of_nodes_and_its_own_heal(self) -> None:
        self.build()
        self.machine(STORAGE).files.clear()
        self.arrive(new_node("worker", 20, "10.10.0.20"))
        scale_out.scale_out(self.request(*self.ids("10.10.0.20")), self.services(), self.vims)
        self.assert_whole(3, 3)
        # With a worker, and alone.
        for addresses in ((STORAGE, WORKERS[0]), (STORAGE,)):
            before = self.connections.total()
            targets = [self.machine(address).node for address in addresses]
            request = self.request(*self.ids(*addresses))
            self.heal_start(request, self.services())
            for node in targets:
                self.replaced(node)
            self.heal_end(self.request(*self.ids(*addresses)), self.services())
            self.assert_whole(3, 3)
            self.assertEqual(len(addresses) > 1, self.connections.total() > before)
        scale_in.scale_in(self.request(*self.ids(WORKERS[1])), self.services(), self.vims)
        self.assertEqual(5, len(self.world.nodes))
        self.assertIn(MASTERS[0], self.connections)
        self.assert_left_alone()
