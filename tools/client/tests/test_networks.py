"""The addresses of a network."""

import unittest
from typing import Any

from tools.client import networks
from tools.client.errors import ClientError
from tools.client.tests.fakes import item


def cloud(*cidrs: str) -> Any:
    """A cloud whose network has these subnets, listed in another order than they were made."""
    subnets = [item(cidr=c, created_at=f"2026-01-0{n}") for n, c in enumerate(cidrs, start=1)]
    network = item(
        find_network=lambda name, ignore_missing: item(id="n1"),
        subnets=lambda network_id, ip_version: reversed(subnets),
    )
    return item(network=network)


class CidrTest(unittest.TestCase):
    def test_the_subnet_that_was_made_first(self) -> None:
        self.assertEqual("10.0.0.0/24", networks.cidr(cloud("10.0.0.0/24", "10.1.0.0/24"), "net"))

    def test_a_network_without_ipv4(self) -> None:
        with self.assertRaisesRegex(ClientError, "network net has no subnet"):
            networks.cidr(cloud(), "net")


class PrefixesOfMachinesTest(unittest.TestCase):
    def test_the_pool_and_nothing_beside_it(self) -> None:
        pool = {"start": "10.0.0.10", "end": "10.0.0.18"}
        subnet = item(created_at="", allocation_pools=[pool])
        network = item(
            find_network=lambda name, ignore_missing: item(id="n1"),
            subnets=lambda network_id, ip_version: [subnet],
        )
        found = networks.prefixes_of_machines(item(network=network), "net")
        self.assertEqual(["10.0.0.10/31", "10.0.0.12/30", "10.0.0.16/31", "10.0.0.18/32"], found)


class NameServersTest(unittest.TestCase):
    def test_the_servers_before_come_back(self) -> None:
        seen: list[Any] = []
        subnet = item(id="s1", created_at="", dns_nameservers=["192.0.2.53"])
        network = item(
            find_network=lambda name, ignore_missing: item(id="n1"),
            subnets=lambda network_id, ip_version: [subnet],
            update_subnet=lambda id_, dns_nameservers: seen.append((id_, dns_nameservers)),
        )
        servers = networks.name_servers(item(network=network), "net", ["10.0.0.9"])
        with self.assertRaises(ZeroDivisionError), servers:
            1 / 0  # noqa: B018
        self.assertEqual([("s1", ["10.0.0.9"]), ("s1", ["192.0.2.53"])], seen)


class FreeAddressTest(unittest.TestCase):
    def test_the_port_goes_again(self) -> None:
        port = item(fixed_ips=[{"ip_address": "2001:db8::5"}, {"ip_address": "192.0.2.5"}])
        gone: list[Any] = []
        network = item(
            find_network=lambda name, ignore_missing: item(id="n1"),
            create_port=lambda network_id: port,
            delete_port=gone.append,
        )
        self.assertEqual("192.0.2.5", networks.free_address(item(network=network), "net"))
        self.assertEqual([port], gone)
