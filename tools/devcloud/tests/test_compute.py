"""Ports, placement and names: what needs no Docker engine."""

import tempfile
import unittest
from pathlib import Path

from tools.devcloud.compute import catalog
from tools.devcloud.compute.placement import HOSTS, NoValidHost, choose_host
from tools.devcloud.compute.ports import PortError, PortStore
from tools.devcloud.compute.servers import hostname_of
from tools.devcloud.compute.table import Table
from tools.devcloud.settings import Network, Settings


class PortsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        table = Table(Path(folder.name) / "state" / "ports.json")
        self.ports = PortStore(table, (Network("net0", "docker-net0", "192.0.2.0/24"),))

    def test_lowest_free_address_is_given_and_taken_back(self) -> None:
        first, second = self.ports.create("net0"), self.ports.create("net0")
        self.assertEqual(("192.0.2.10", "192.0.2.11"), (first.address, second.address))
        self.ports.delete(first.id)
        self.assertEqual("192.0.2.10", self.ports.create("net0").address)

    def test_wanted_address(self) -> None:
        self.assertEqual("192.0.2.77", self.ports.create("net0", "192.0.2.77").address)
        for address, message in (
            ("192.0.2.77", "already allocated"),
            ("198.51.100.1", "not a valid IP"),
        ):
            with self.assertRaisesRegex(PortError, message):
                self.ports.create("net0", address)

    def test_unknown_network(self) -> None:
        with self.assertRaisesRegex(PortError, "Unable to find network.*'net9'. Known: net0"):
            self.ports.create("net9")

    def test_exhausted_network(self) -> None:
        for _ in range(241):
            self.ports.create("net0")
        with self.assertRaisesRegex(PortError, "No more IP addresses"):
            self.ports.create("net0")

    def test_binding_shows_as_neutron_shows_it(self) -> None:
        port = self.ports.create("net0", name="CP1")
        self.assertEqual("DOWN", port.show()["status"])
        shown = self.ports.bind(port.id, "server-1").show()
        self.assertEqual(("ACTIVE", "server-1"), (shown["status"], shown["device_id"]))
        self.assertEqual("02:42:c0:00:02:0a", shown["mac_address"])
        self.assertEqual("192.0.2.10", shown["fixed_ips"][0]["ip_address"])


class PlacementTest(unittest.TestCase):
    def test_least_used_host_first(self) -> None:
        self.assertEqual("compute-1", choose_host([], None, ()))
        used = ["compute-1", "compute-3", "compute-4"]
        self.assertEqual("compute-2", choose_host(used, None, ()))

    def test_zone(self) -> None:
        self.assertEqual("compute-5", choose_host([], "az-2", ()))

    def test_no_valid_host(self) -> None:
        for zone, excluded in (("az-9", set()), (None, set(HOSTS))):
            with self.assertRaisesRegex(NoValidHost, "No valid host was found"):
                choose_host([], zone, excluded)


class NamesTest(unittest.TestCase):
    def test_hostname(self) -> None:
        self.assertEqual("web-1.example", hostname_of("Web_1.example"))
        self.assertEqual("server", hostname_of("__"))
        long = hostname_of("a" * 62 + "-b")
        self.assertEqual("a" * 62, long)

    def test_unknown_image(self) -> None:
        with self.assertRaisesRegex(catalog.ImageNotFound, "'nothing'.*node-debian-12"):
            catalog.find("nothing")

    def test_settings_survive_the_way_to_the_controller(self) -> None:
        network = Network("net0", "docker-net0", "192.0.2.0/24")
        settings = Settings("c", "192.0.2.2", "a", "s", (network,), ("SYS_RESOURCE",), ("9.9.9.9",))
        self.assertEqual(settings, Settings.from_json(settings.to_json()))
