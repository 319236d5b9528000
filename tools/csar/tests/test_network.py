"""What the templates let into machines, and how volumes get to them."""

import unittest
from collections.abc import Iterator
from typing import Any

from tools.csar import build, check_basehot
from tools.csar.package import Package, mapping

PACKAGES = (
    ("kubernetes", ""), ("kubernetes", "storage"), ("kubernetes_v2", ""),
    ("kubernetes_v2", "storage_v2"), ("kubernetes", "pools"), ("kubernetes_v2", "pools_v2"),
    ("private_registry", ""), ("private_registry_v2", ""),
)
ANYWHERE = "anywhere"
SSH, API = "ssh_remote_ip_prefix", "api_remote_ip_prefix"  # parameters of the templates
MASTERS, NODES, BALANCED = "master_group", "node_group", "balanced_group"
STORAGE = "storage_group"
# By protocol and port: the groups that let packets in, and from where.
ADMITTED: dict[tuple[str, int], set[tuple[str, str]]] = {
    ("tcp", 22): {(NODES, SSH), (STORAGE, SSH), (STORAGE, NODES)},
    ("tcp", 2049): {(STORAGE, NODES)},
    ("tcp", 2379): {(BALANCED, BALANCED)},
    ("tcp", 2380): {(BALANCED, BALANCED)},
    ("tcp", 6443): {(MASTERS, API), (MASTERS, NODES)},
    ("tcp", 9100): {(NODES, SSH), (STORAGE, SSH)},
    ("tcp", 10250): {(NODES, NODES)},
    ("tcp", 16443): {(BALANCED, API), (BALANCED, NODES)},
    ("tcp", 30000): {(NODES, ANYWHERE)},
    ("udp", 32767): {(NODES, ANYWHERE)},
    ("udp", 53): set(),
    ("udp", 8472): {(NODES, NODES)},
    ("tcp", 80): set(),
    ("vrrp", 0): {(BALANCED, BALANCED)},
    ("icmp", 0): set(),
}


def resources(package: Package, folder: str, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and properties of resources of one type, nested ones too."""
    for file, document in package.documents.items():
        if file.startswith(f"BaseHOT/{folder}"):
            for name, resource in mapping(document, "resources").items():
                if resource.get("type") == kind:
                    yield name, mapping(resource, "properties")


def remote(group: str, rule: dict[str, Any]) -> str:
    """From where a rule of a group admits packets."""
    if rule.get("remote_mode") != "remote_group_id":
        return str(rule.get("remote_ip_prefix", {"get_param": ANYWHERE})["get_param"])
    (reference,) = rule.get("remote_group_id", {"get_resource": group}).values()
    return str(reference[-1] if isinstance(reference, list) else reference)


def admits(rule: dict[str, Any], protocol: str, port: int) -> bool:
    ports = range(rule.get("port_range_min", 0), rule.get("port_range_max", 65535) + 1)
    return rule.get("protocol", protocol) == protocol and port in ports


class SecurityGroupsTest(unittest.TestCase):
    def package(self, name: str, overlay: str) -> Package:
        overlays = [build.OVERLAYS / overlay] if overlay else []
        return Package(build.assemble(build.PACKAGES / name, overlays=overlays))

    def test_all_ports_have_groups(self) -> None:
        """Without them they get the project's default group, of which nothing is known."""
        for name, overlay in PACKAGES:
            package = self.package(name, overlay)
            ports = list(resources(package, "", "OS::Neutron::Port"))
            self.assertTrue(ports)
            for port, properties in ports:
                self.assertTrue(properties.get("security_groups"), f"{name}: {port}")

    def test_what_is_let_in(self) -> None:
        for name, overlay in (("kubernetes", "storage"), ("kubernetes_v2", "storage_v2")):
            package = self.package(name, overlay)
            groups = dict(resources(package, "complex", "OS::Neutron::SecurityGroup"))
            self.assertEqual({MASTERS, NODES, BALANCED, STORAGE}, set(groups))
            rules = [(group, rule) for group, found in groups.items() for rule in found["rules"]]
            for (protocol, port), wanted in ADMITTED.items():
                with self.subTest(name, protocol=protocol, port=port):
                    found = {
                        (group, remote(group, rule))
                        for group, rule in rules
                        if admits(rule, protocol, port)
                    }
                    self.assertEqual(wanted, found)

    def test_the_registry_lets_in_all_clients_and_those_who_log_in(self) -> None:
        for name in ("private_registry", "private_registry_v2"):
            kind = "OS::Neutron::SecurityGroup"
            ((_, group),) = resources(self.package(name, ""), "", kind)
            self.assertEqual([SSH, ANYWHERE], [remote("", rule) for rule in group["rules"]])

    def test_prefixes_are_parameters_that_let_in_everybody(self) -> None:
        for name, overlay in PACKAGES:
            package = self.package(name, overlay)
            for flavour in package.flavours:
                (top,) = check_basehot.top_templates(package, flavour)
                declared = mapping(package.documents[top], "parameters")
                prefixes = {key: value for key, value in declared.items() if "prefix" in key}
                wanted = {SSH} if "registry" in name else {SSH, API}
                self.assertEqual(wanted, prefixes.keys())
                for prefix in prefixes.values():
                    self.assertEqual("0.0.0.0/0", prefix["default"])

    def test_a_single_master_has_neither_peers_nor_a_load_balancer(self) -> None:
        for name in ("kubernetes", "kubernetes_v2"):
            groups = dict(resources(self.package(name, ""), "simple", "OS::Neutron::SecurityGroup"))
            self.assertEqual({MASTERS, NODES}, set(groups))

    def test_the_virtual_ip_is_for_masters_only(self) -> None:
        for name in ("kubernetes", "kubernetes_v2"):
            ports = dict(resources(self.package(name, ""), "complex", "OS::Neutron::Port"))
            shared = ports["masterNode_CP1"]["allowed_address_pairs"]["repeat"]
            self.assertEqual({"$address": {"get_param": "virtual_ips"}}, shared["for_each"])
            self.assertEqual({"ip_address": "$address"}, shared["template"])
            self.assertNotIn("allowed_address_pairs", ports["workerNode_CP2"])
            self.assertNotIn({"get_param": "balanced_group"},
                             ports["workerNode_CP2"]["security_groups"])


class VolumesTest(unittest.TestCase):
    def test_volumes_are_attached_by_a_resource_of_their_own(self) -> None:
        """Which Heat moves to a new server before it deletes the old one."""
        for name, overlay in (("kubernetes", "storage"), ("kubernetes_v2", "storage_v2")):
            contents = build.assemble(
                build.PACKAGES / name, overlays=[build.OVERLAYS / overlay]
            )
            package = Package(contents)
            volumes = {n for n, _ in resources(package, "simple", "OS::Cinder::Volume")}
            found = resources(package, "simple", "OS::Cinder::VolumeAttachment")
            attachments = [attachment for _, attachment in found]
            self.assertEqual(2, len(attachments))
            self.assertEqual(volumes, {a["volume_id"]["get_resource"] for a in attachments})
            for attachment in attachments:
                self.assertEqual({"get_resource": "storage_server"}, attachment["instance_uuid"])
            for _, server in resources(package, "simple", "OS::Nova::Server"):
                self.assertNotIn("block_device_mapping_v2", server)
