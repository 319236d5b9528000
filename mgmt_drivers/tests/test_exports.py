"""Exports to the nodes that there are, where the parameters name no network."""

import copy
import dataclasses
from typing import Any

from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import OperationError
from mgmt_drivers.inventory import Node
from mgmt_drivers.operations import scale_in, scale_out
from mgmt_drivers.testing.simulated_cloud import MASTERS, PARAMS, STORAGE, WORKERS, new_node
from mgmt_drivers.tests.test_faults import FaultsTestCase

_NEW = "10.10.0.20"


class ExportsTest(FaultsTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.params: dict[str, Any] = copy.deepcopy(PARAMS)
        self.params["storage_server"]["nfs_server_setup_params"] = [
            {"export_dir": "/volume/nfs", "root_squash": True}
        ]

    def exported(self) -> set[str]:
        """The clients in the storage server's exports."""
        path = "/etc/exports.d/mgmt-driver.exports"
        text = self.machine(STORAGE).files.get(path, (b"", ""))[0].decode()
        lines = [line.split()[1] for line in text.splitlines() if line.startswith("/")]
        self.assertTrue(all(",root_squash," in line for line in lines), lines)
        return {line.partition("(")[0] for line in lines}

    def assert_exported(self, *addresses: str) -> None:
        self.assertEqual({f"{address}/32" for address in addresses}, self.exported())

    def scale_out(self, services: Services) -> None:
        scale_out.scale_out(self.request(*self.ids(_NEW)), services, self.vims)

    def test_instantiate(self) -> None:
        self.build(is_clustered=False)
        self.instantiate(self.services())
        self.assert_exported(*MASTERS, *WORKERS)

    def test_strict_from_the_beginning(self) -> None:
        """Unless the parameters say otherwise; and as before in clusters of earlier drivers."""
        (export,) = self.params["storage_server"]["nfs_server_setup_params"]
        earlier = "no_subtree_check,no_root_squash"
        for is_clustered, root_squash, options in (
            (False, None, "subtree_check,root_squash"),
            (False, False, "subtree_check,no_root_squash"),
            (True, None, earlier),
            (True, True, "no_subtree_check,root_squash"),
        ):
            export["root_squash"] = root_squash
            self.build(is_clustered=is_clustered)
            if not is_clustered:
                self.instantiate(self.services())
            for address in (STORAGE, WORKERS[0]):
                target = self.machine(address).node
                self.heal_start(self.request(target.vnfc_id), self.services())
                self.replaced(target)
                self.heal_end(self.request(target.vnfc_id), self.services())
                (text, _) = self.machine(STORAGE).files["/etc/exports.d/mgmt-driver.exports"]
                self.assertIn(f"(rw,sync,{options},mountpoint=", text.decode())

    def test_scale_out(self) -> None:
        def story(number: int, fault: str) -> bool:
            self.arrive(new_node("worker", 20, _NEW))
            struck = self.cured(self.scale_out, number, fault)
            self.assert_exported(*MASTERS, *WORKERS, _NEW)
            return struck

        self.assertGreater(self.all_faults(story), 100)

    def test_scale_in(self) -> None:
        def story(number: int, fault: str) -> bool:
            request = self.request(*self.ids(WORKERS[1]))
            struck = self.cured(lambda s: scale_in.scale_in(request, s, self.vims), number, fault)
            # A storage server that is cut off at the login does not keep nodes from leaving.
            if self.exported() or not struck:
                self.assert_exported(*MASTERS, WORKERS[0])
            return struck

        self.assertGreater(self.all_faults(story), 20)

    def test_roll_back(self) -> None:
        self.build()
        scale_out.roll_back_scale_out(self.request(), self.services())
        self.assert_exported(*MASTERS, *WORKERS)

    def replace_and_move(self, target: Node) -> None:
        moved = {cp: _NEW for cp in target.addresses}
        self.replaced(dataclasses.replace(target, addresses=moved))

    def test_a_healed_node_may_have_another_address(self) -> None:
        self.build()
        target = self.machine(WORKERS[0]).node
        self.heal_start(self.request(target.vnfc_id), self.services())
        self.replace_and_move(target)
        self.heal_end(self.request(target.vnfc_id), self.services())
        self.assert_exported(*MASTERS, WORKERS[1], _NEW)

    def test_a_heal_that_changes_no_export_needs_no_storage_server(self) -> None:
        """Both were on one compute host; Heat keeps the port, and so the address."""
        for address in (WORKERS[0], MASTERS[0]):
            self.build()
            self.machine(STORAGE).alive = self.machine(address).alive = False
            target = self.machine(address).node
            self.heal_start(self.request(target.vnfc_id), self.services())
            self.replaced(target)
            for _ in range(2):  # as in a retry
                self.heal_end(self.request(target.vnfc_id), self.services())
                self.assert_whole(3, 2)

    def test_a_healed_node_waits_for_its_export(self) -> None:
        """Also in another heal, after the first one has not let the node join."""
        self.build()
        target = self.machine(WORKERS[0]).node
        self.machine(STORAGE).alive = False
        for replace in (self.replace_and_move, self.replaced):
            self.heal_start(self.request(target.vnfc_id), self.services())
            replace(target)
            with self.assertRaisesRegex(OperationError, "storageNode .*no answer"):
                self.heal_end(self.request(target.vnfc_id), self.services())
            target = self.machine(_NEW).node
        self.machine(STORAGE).alive = True
        self.heal_end(self.request(target.vnfc_id), self.services())
        self.assert_exported(*MASTERS, WORKERS[1], _NEW)

    def test_the_storage_server_itself(self) -> None:
        self.build()
        target = self.machine(STORAGE).node
        self.machine(STORAGE).alive = False
        self.heal_start(self.request(target.vnfc_id), self.services())
        self.replaced(target)
        self.heal_end(self.request(target.vnfc_id), self.services())
        self.assert_exported(*MASTERS, *WORKERS)

    def test_a_storage_server_that_does_not_answer(self) -> None:
        """No node joins that could not mount anything; but nodes may leave."""
        self.build()
        self.machine(STORAGE).alive = False
        scale_in.scale_in(self.request(*self.ids(WORKERS[1])), self.services(), self.vims)
        self.assertEqual(4, len(self.world.nodes))
        self.arrive(new_node("worker", 20, _NEW))
        with self.assertRaisesRegex(OperationError, "storageNode .*no answer"):
            self.scale_out(self.services())
        self.assertEqual(4, len(self.world.nodes))
