"""Request and inventory: Tacker's and Heat's objects become ours."""

import unittest
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mgmt_drivers import inventory, request
from mgmt_drivers.errors import InventoryError

VNFD = {
    "topology_template": {
        "node_templates": {
            "VNF": {"type": "some.VNF"},
            "CP1": {"type": "tosca.nodes.nfv.VduCp"},
        }
    }
}


def vnf_instance() -> Any:
    vnfc = SimpleNamespace(
        id="vnfc-1",
        vdu_id="VDU1",
        compute_resource=SimpleNamespace(resource_id="server-1"),
        metadata={"stack_id": "nested"},
    )
    info = SimpleNamespace(instance_id="stack-1", vnfc_resource_info=[vnfc])
    return SimpleNamespace(id="vnf-1", instantiated_vnf_info=info)


class Stacks:
    """Heat with two stacks of ports."""

    def ports(self, stack_id: str) -> Mapping[str, Mapping[str, Any]]:
        fixed = [{"ip_address": "192.0.2.1", "subnet_id": "s"}]
        others = [{"ip_address": "192.0.2.2", "subnet_id": "s"}]
        stacks: dict[str, dict[str, dict[str, Any]]] = {
            "stack-1": {"VIP": {"fixed_ips": others, "device_id": ""}},
            "nested": {
                "CP1": {"fixed_ips": fixed, "device_id": "server-1"},
                "CP2": {"fixed_ips": others, "device_id": "server-2"},
                "CP3": {"fixed_ips": [], "device_id": "server-1"},
            },
        }
        return stacks[stack_id]


class InventoryTest(unittest.TestCase):
    def build(self) -> request.LcmRequest:
        params = {"secret": "hidden"}
        return request.from_v1("heal", vnf_instance(), params, VNFD, Path("/package"))

    def test_request(self) -> None:
        built = self.build()
        self.assertEqual("stack-1", built.stack_id)
        self.assertEqual(frozenset({"CP1"}), built.cps)
        self.assertEqual((request.Vnfc("vnfc-1", "VDU1", "server-1", "nested"),), built.vnfcs)
        self.assertNotIn("hidden", repr(built))

    def test_a_vnf_that_is_not_instantiated_has_no_vnfcs(self) -> None:
        instance = SimpleNamespace(id="vnf-1", instantiated_vnf_info=None)
        built = request.from_v1("instantiate", instance, {}, VNFD, Path("/package"))
        self.assertEqual(((), ""), (built.vnfcs, built.stack_id))
        with self.assertRaisesRegex(InventoryError, "vnf-1 has no VNFC"):
            inventory.read(built, Stacks())

    def test_a_node_has_the_addresses_of_its_own_ports(self) -> None:
        (node,) = inventory.read(self.build(), Stacks())
        self.assertEqual({"CP1": "192.0.2.1"}, node.addresses)
        self.assertEqual("VDU1 (VNFC vnfc-1, 192.0.2.1)", str(node))
        with self.assertRaisesRegex(InventoryError, "no address at CP CP9; its CPs in Heat: CP1"):
            node.address("CP9")

    def test_vim_access(self) -> None:
        vim = {
            "vim_auth": {
                "auth_url": "http://keystone/v3",
                "username": "nfv",
                "password": "hidden",
                "project_name": "nfv",
                "user_domain_name": None,
                "cert_verify": "False",
                "region": None,
            }
        }
        access = request.vim_access_from_v1(vim)
        self.assertEqual(("Default", False), (access.user_domain_name, access.verify))
        self.assertNotIn("hidden", repr(access))
