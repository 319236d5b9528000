"""How many compute hosts take servers of an image, and a host that is dead."""

import unittest
from typing import Any

from tools.client import hosts
from tools.client.tests.fakes import item


def count(property_of_image: dict[str, str], *types: str, down: int = 0) -> int:
    states = ["down"] * down + ["up"] * (len(types) - down)
    hypervisors = [
        item(hypervisor_type=kind, state=state, status="enabled")
        for kind, state in zip(types, states, strict=True)
    ]
    image = item(find_image=lambda name: item(properties=property_of_image))
    compute = item(hypervisors=lambda details: hypervisors)
    cloud: Any = item(image=image, compute=compute)
    return hosts.count(cloud, "image")


class CountTest(unittest.TestCase):
    def test_hosts_of_the_hypervisor_that_the_image_names(self) -> None:
        self.assertEqual(2, count({"img_hv_type": "docker"}, "docker", "docker", "QEMU"))
        self.assertEqual(1, count({"img_hv_type": "qemu"}, "docker", "docker", "QEMU"))

    def test_all_hosts_without_such_a_property(self) -> None:
        self.assertEqual(2, count({}, "QEMU", "QEMU"))
        self.assertEqual(2, count({"img_hv_type": "kvm"}, "QEMU", "QEMU"))

    def test_hosts_that_are_down_do_not_count(self) -> None:
        self.assertEqual(1, count({}, "QEMU", "QEMU", down=1))


class DownTest(unittest.TestCase):
    def test_a_host_is_down_until_the_end_also_of_what_fails(self) -> None:
        seen: list[tuple[str, bool]] = []
        services = [
            item(binary=binary, host=host)
            for binary, host in (
                ("nova-scheduler", "two"), ("nova-compute", "one"), ("nova-compute", "two")
            )
        ]

        def update(service: Any, forced: bool) -> None:
            seen.append((f"{service.binary} {service.host}", forced))

        compute = item(services=lambda: services, update_service_forced_down=update)
        cloud: Any = item(compute=compute)
        with self.assertRaises(ZeroDivisionError), hosts.down(cloud, "two"):
            self.assertEqual([("nova-compute two", True)], seen)
            raise ZeroDivisionError
        self.assertEqual(("nova-compute two", False), seen[-1])
