"""Addresses of the provider network, and how a container gets its interfaces."""

import ipaddress
import unittest

from tools.devcloud import networks
from tools.devcloud.drivers import interfaces
from tools.devcloud.settings import Network, Settings

NETWORK = Network("docker-net", "192.0.2.0/24")
SUBNET = {
    "cidr": "192.0.2.0/24",
    "gateway": {"address": "192.0.2.1"},
    "ips": [{"address": "192.0.2.10"}],
    "routes": [{"cidr": "198.51.100.0/24", "gateway": {"address": "192.0.2.7"}}],
}
VIF = {"network": {"subnets": [SUBNET]}}


class AddressesTest(unittest.TestCase):
    def test_servers_get_nobody_elses_address(self) -> None:
        first, last = map(ipaddress.IPv4Address, networks.server_addresses(NETWORK))
        for taken in (
            networks.gateway(NETWORK),
            networks.controller_address(NETWORK),
            networks.mirror_address(NETWORK),
        ):
            self.assertLess(ipaddress.IPv4Address(taken), first)
        self.assertLess(last, ipaddress.IPv4Network(NETWORK.cidr).broadcast_address)

    def test_settings_survive_the_way_to_the_controller(self) -> None:
        tuples = ("SYS_RESOURCE",), ("9.9.9.9",)
        settings = Settings("c", "2026.2", "192.0.2.2", "a", "s", NETWORK, *tuples)
        self.assertEqual(settings, Settings.from_json(settings.to_json()))


class InterfaceTest(unittest.TestCase):
    def test_the_interface_has_its_addresses_before_its_name(self) -> None:
        """The container starts as soon as it sees the name."""
        commands = interfaces._configuration(VIF, "new", "eth0", default_route=True)
        self.assertEqual(
            [
                "link set lo up",
                "address add 192.0.2.10/24 dev new",
                "link set new gso_max_segs 1 name eth0",
                "link set eth0 up",
                "route replace default via 192.0.2.1 dev eth0",
                "route replace 198.51.100.0/24 via 192.0.2.7",
            ],
            commands,
        )

    def test_only_the_first_interface_has_the_default_route(self) -> None:
        commands = interfaces._configuration(VIF, "new", "eth1", default_route=False)
        self.assertNotIn("default", " ".join(commands))

    def test_a_subnet_without_gateway(self) -> None:
        subnet = {**SUBNET, "gateway": None, "routes": []}
        commands = interfaces._configuration(
            {"network": {"subnets": [subnet]}}, "new", "eth0", default_route=True
        )
        self.assertNotIn("route", " ".join(commands))
