"""What is read of stacks in Heat, and what test machines are made of."""

import unittest
from typing import Any

from tools.client import stacks
from tools.client.tests.fakes import Orchestration, item, resource

_PORT, _SERVER = "OS::Neutron::Port", "OS::Nova::Server"
_TOP, _NESTED = "/stacks/vnflcm_vnf-1/a", "/stacks/vnflcm_vnf-1-worker/b"


def port(address: str, device: str) -> dict[str, Any]:
    return {"resource": {"attributes": {
        "device_id": device, "fixed_ips": [{"ip_address": "fd00::5"}, {"ip_address": address}]
    }}}


class VnfTest(unittest.TestCase):
    """A VNF with a virtual IP, a machine with a floating IP, and a machine that is missing."""

    def setUp(self) -> None:
        names = {"a": "vnflcm_vnf-1", "b": "vnflcm_vnf-1-worker", "c": "other"}
        top = [resource("vip_CP", _PORT, "p0"), resource("failed", _SERVER, "s0", "CREATE_FAILED")]
        nested = [
            resource("CP", _PORT, "p1"),
            resource("VDU", _SERVER, "s1"),
            resource("VDU_fip", "OS::Neutron::FloatingIP", "f1"),
            resource("later_CP", _PORT, "", "INIT_COMPLETE"),
        ]
        floating = {"fixed_ip_address": "10.0.0.5", "floating_ip_address": "203.0.113.5"}
        self.heat = Orchestration({
            "/stacks?show_nested=true": {
                "stacks": [{"id": i, "stack_name": name} for i, name in names.items()]
            },
            f"{_TOP}/resources": {"resources": top},
            f"{_NESTED}/resources": {"resources": nested},
            f"{_TOP}/resources/vip_CP": port("10.0.0.9", ""),
            f"{_NESTED}/resources/CP": port("10.0.0.5", "s1"),
            f"{_NESTED}/resources/VDU_fip": {"resource": {"attributes": floating}},
        })
        compute = item(get_server=lambda server_id: f"server {server_id}")
        self.cloud = item(orchestration=self.heat, compute=compute)

    def test_a_machine_is_reached_at_its_floating_ip(self) -> None:
        self.assertEqual({"s1": "203.0.113.5"}, stacks.server_addresses(self.cloud, "vnf-1"))

    def test_addresses_have_the_names_of_ports_and_floating_ips(self) -> None:
        """A request's ssh_cp_name names one of them."""
        named = {"s1": {"CP": "10.0.0.5", "VDU_fip": "203.0.113.5"}}
        self.assertEqual(named, stacks.named_addresses(self.cloud, "vnf-1"))

    def test_members_of_a_group_by_age(self) -> None:
        members = [("x", "b", "02"), ("z", "c", "01"), ("y", "d", "01")]
        listed = [
            resource(name, "master.yaml", stack, created=f"2026-01-{day}T00:00:00Z")
            for name, stack, day in members
        ]
        self.heat.answers[f"{_TOP}/resources"]["resources"] += listed
        shown = self.heat.answers["/stacks?show_nested=true"]["stacks"]
        shown[2]["stack_name"] = "vnflcm_vnf-1-c"
        shown.append({"id": "d", "stack_name": "vnflcm_vnf-1-d"})
        for _, stack, _ in members[1:]:
            servers = [resource("VDU", _SERVER, f"server-{stack}")]
            self.heat.answers[f"/stacks/vnflcm_vnf-1-{stack}/{stack}/resources"] = {
                "resources": servers
            }
        self.assertEqual(
            ["server-d", "server-c", "s1"], stacks.members_by_age(self.cloud, "vnf-1", "VDU")
        )

    def test_a_port_of_a_name_has_its_own_address(self) -> None:
        self.assertEqual(["10.0.0.5"], stacks.addresses_of_port(self.cloud, "vnf-1", "CP"))

    def test_servers_that_do_not_exist_are_not_asked_for(self) -> None:
        self.assertEqual(["server s1"], stacks.servers(self.cloud, "vnf-1"))

    def test_servers_of_some_names(self) -> None:
        self.assertEqual(["server s1"], stacks.servers(self.cloud, "vnf-1", "x", "VDU"))
        self.assertEqual([], stacks.servers(self.cloud, "vnf-1", "x"))

    def test_reasons_of_failures(self) -> None:
        self.assertEqual({"why failed"}, stacks.failure_reasons(self.cloud, "vnf-1"))

    def test_a_stack_that_was_deleted_meanwhile_has_no_resources(self) -> None:
        self.heat.answers[f"{_NESTED}/resources"] = {"error": {}}
        self.assertEqual({}, stacks.server_addresses(self.cloud, "vnf-1"))

    def test_a_stack_is_deleted_again_only_if_heat_failed(self) -> None:
        deleted: list[str] = []

        def delete(name: str) -> None:
            deleted.append(name)
            self.heat.answers["/stacks?show_nested=true"] = {"stacks": []}

        for status, expected in (
            (None, []), ("DELETE_IN_PROGRESS", []), ("DELETE_FAILED", ["vnflcm_vnf-1"])
        ):
            found = status and item(status=status)
            heat = item(
                find_stack=lambda name, resolve_outputs, found=found: found,
                delete_stack=delete, get=self.heat.get,
            )
            stacks.delete_failed(item(orchestration=heat), "vnf-1")
            self.assertEqual(expected, deleted, status)

    def test_stacks_are_shown_without_their_outputs(self) -> None:
        self.heat.answers["/stacks/name-of-x/x/resources"] = {"resources": [resource("v", "", "1")]}
        self.assertEqual("1", stacks.physical_id(self.cloud, "x", "v"))
        self.assertEqual([("x", False)], self.heat.shown)


class ServerTest(unittest.TestCase):
    def test_a_server_has_a_security_group_of_its_own(self) -> None:
        made = stacks.server("one", "image", [443]) | stacks.server("two", "image", [443])
        self.assertEqual({"access", "one", "one_port", "two", "two_port"}, set(made))
        for name in ("one_port", "two_port"):
            groups = made[name]["properties"]["security_groups"]
            self.assertEqual([{"get_resource": "access"}], groups)
        *open_ports, members = made["access"]["properties"]["rules"]
        self.assertEqual([22, 443], [rule["port_range_min"] for rule in open_ports])
        self.assertEqual({"remote_mode": "remote_group_id"}, members)
