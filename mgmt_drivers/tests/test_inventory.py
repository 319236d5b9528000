"""Inventory and VNFD: Heat's objects and Tacker's become ours."""

import unittest
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from heatclient import exc as heat_errors

from mgmt_drivers import inventory, request
from mgmt_drivers.errors import InventoryError
from mgmt_drivers.inventory import Address, Contents, Placement
from mgmt_drivers.tacker import vnfd

VNFD = {
    "topology_template": {
        "node_templates": {
            "VNF": {"type": "some.VNF"},
            "CP1": {
                "type": "tosca.nodes.nfv.VduCp",
                "requirements": [{"virtual_link": {}}, {"virtual_binding": "VDU1"}],
            },
        },
        "policies": [
            {
                "aspects": {
                    "type": "tosca.policies.nfv.ScalingAspects",
                    "properties": {"aspects": {"workers": {}}},
                }
            }
        ],
    }
}


class Stacks:
    """Heat with two stacks of addresses."""

    def read_contents(self, stack_id: str, placed: bool) -> Contents:
        stacks = {
            "stack-1": Contents([Address("VIP", "192.0.2.9", "")], volumes={"volume": "id-1"}),
            "nested": Contents(
                [
                    Address("CP1", "192.0.2.1", "server-1"),
                    Address("FIP1", "203.0.113.1", "server-1"),
                    Address("CP2", "192.0.2.2", "server-2"),
                ],
                placements={"server-1": Placement("compute-1", "nova")} if placed else {},
            ),
        }
        return stacks[stack_id]


class InventoryTest(unittest.TestCase):
    def build(self) -> request.LcmRequest:
        return request.LcmRequest(
            "heal", "vnf-1", Path("/package"), {"CP1": "VDU1"}, {"secret": "hidden"},
            stack_id="stack-1",
            vnfcs=(request.Vnfc("vnfc-1", "VDU1", "server-1", "nested"),),
        )

    def test_what_a_vnfd_tells(self) -> None:
        self.assertEqual({"CP1": "VDU1"}, vnfd.cps(VNFD))
        self.assertEqual({"workers"}, vnfd.aspects(VNFD))
        self.assertNotIn("hidden", repr(self.build()))

    def test_a_vnf_that_is_not_instantiated_has_no_vnfcs(self) -> None:
        with self.assertRaisesRegex(InventoryError, "vnf-1 has no VNFC"):
            inventory.read(replace(self.build(), vnfcs=(), stack_id=""), Stacks())

    def test_a_node_has_the_addresses_of_its_own_ports(self) -> None:
        found = inventory.read(self.build(), Stacks())
        (node,) = found.nodes
        self.assertEqual({"CP1": "192.0.2.1", "FIP1": "203.0.113.1"}, node.addresses)
        self.assertEqual("VDU1 (VNFC vnfc-1, 192.0.2.1, 203.0.113.1)", str(node))
        self.assertEqual({"VIP": "192.0.2.9"}, found.shared)
        self.assertEqual({"volume": "id-1"}, found.volumes)
        self.assertIsNone(node.placement)
        (node,) = inventory.read(self.build(), Stacks(), placed=True).nodes
        self.assertEqual(Placement("compute-1", "nova"), node.placement)
        with self.assertRaisesRegex(InventoryError, "at CP CP9; its CPs in Heat: CP1, FIP1"):
            node.address("CP9")

    def test_a_vnfc_whose_stack_is_gone_has_no_machine(self) -> None:
        gone: set[str] = set()

        class Some(Stacks):
            def read_contents(self, stack_id: str, placed: bool) -> Contents:
                if stack_id in gone:
                    return Contents((), exists=False)
                return super().read_contents(stack_id, placed)

        built = self.build()
        other = request.Vnfc("vnfc-2", "VDU1", "server-2", "another")
        gone.add("another")
        both = replace(built, vnfcs=(*built.vnfcs, other))
        with self.assertLogs(inventory.LOG, "WARNING"):
            (node,) = inventory.read(both, Some()).nodes
        self.assertEqual("vnfc-1", node.vnfc_id)
        for stack, words in (
            ("nested", "no stack of VNF instance vnf-1's"),
            ("stack-1", "stack-1, the stack of the VNF"),
        ):
            gone.add(stack)
            with self.assertRaisesRegex(InventoryError, words):
                inventory.read(both, Some())

    def test_the_virtual_ip_in_a_machines_stack_is_not_its_own(self) -> None:
        vnfc = request.Vnfc("vnfc-1", "storage", "server-1", "")
        for holder, wanted in (("server-1", {"CP"}), ("", {"CP", "VIP"})):  # bound, and lost
            addresses = [Address("VIP", "192.0.2.9", ""), Address("CP", "192.0.2.1", holder)]
            node = inventory._node(vnfc, Contents(addresses, servers=["server-1"]))
            self.assertEqual(wanted, set(node.addresses))

    def test_what_heat_shows_of_a_stack_that_it_deleted(self) -> None:
        heat = inventory.Heat(mock.Mock())
        heat._heat = mock.Mock()
        heat._heat.resources.list.return_value = []
        self.assertFalse(heat.read_contents("nested", placed=False).exists)
        heat._heat.resources.list.side_effect = heat_errors.HTTPNotFound()
        self.assertFalse(heat.read_contents("nested", placed=False).exists)

    def test_the_ipv4_address_of_a_port_wherever_it_stands(self) -> None:
        six, four = {"ip_address": "2001:db8::5"}, {"ip_address": "192.0.2.5"}
        for listed, wanted in (([six, four], "192.0.2.5"), ([six], None), ([], None)):
            self.assertEqual(wanted, inventory._ipv4({"fixed_ips": listed}))

    def test_a_floating_address_is_never_taken_for_a_fixed_one(self) -> None:
        """A dual-stack port with a floating IP, as Neutron shows both."""
        shown = {
            "CP1": (
                "OS::Neutron::Port",
                {
                    "id": "port-1",
                    "device_id": "server-1",
                    "fixed_ips": [{"ip_address": "2001:db8::5"}, {"ip_address": "192.0.2.5"}],
                },
            ),
            "CP1_fip": (
                "OS::Neutron::FloatingIP",
                {
                    "port_id": "port-1",
                    "fixed_ip_address": "192.0.2.5",
                    "floating_ip_address": "203.0.113.5",
                },
            ),
            # Nova lists the floating address among those of the server; nobody asks Nova.
            "VDU1": ("OS::Nova::Server", {}),
        }
        heat = inventory.Heat(mock.Mock())
        heat._heat = mock.Mock()
        heat._heat.resources.list.return_value = [
            SimpleNamespace(
                resource_name=name,
                resource_type=kind,
                physical_resource_id="server-1",
                resource_status="CREATE_COMPLETE",
            )
            for name, (kind, _) in shown.items()
        ]
        heat._heat.resources.get.side_effect = lambda _, name: SimpleNamespace(
            attributes=shown[name][1]
        )
        found = heat.read_contents("nested", placed=False)
        self.assertEqual({"CP1": "192.0.2.5", "CP1_fip": "203.0.113.5"},
                         {a.name: a.ip for a in found.addresses})
        self.assertEqual({"server-1"}, {a.server_id for a in found.addresses})

    def test_placements_as_nova_shows_them(self) -> None:
        """The name of the host is for administrators, its digest for each user."""
        server = {"OS-EXT-AZ:availability_zone": "zone-1", "hostId": "digest-1"}
        for name, expected in (({}, ""), ({"OS-EXT-SRV-ATTR:host": "compute-1"}, "compute-1")):
            found = inventory._placement({**server, **name})
            self.assertEqual(Placement(expected, "zone-1", "digest-1"), found)

    def test_a_server_that_heat_could_not_make(self) -> None:
        listed = [
            SimpleNamespace(
                resource_name=name,
                resource_type="OS::Nova::Server",
                physical_resource_id=f"id-{name}",
                resource_status=status,
            )
            for name, status in (("a", "CREATE_FAILED"), ("b", "CHECK_FAILED"))
        ]
        self.assertEqual({"a": "", "b": "id-b"}, inventory._ids(listed, "OS::Nova::Server"))
