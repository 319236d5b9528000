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
