"""Network interfaces of a machine."""

import ipaddress
import json
from dataclasses import dataclass

from mgmt_drivers.errors import InventoryError
from mgmt_drivers.host.host import Host


@dataclass(frozen=True)
class Interface:
    """An interface by its name, the subnet of its address, and its MTU in bytes."""

    name: str
    subnet: ipaddress.IPv4Network
    mtu: int


def having(host: Host, address: str) -> Interface:
    """The interface that has an IPv4 address.

    :raises InventoryError: when none has
    """
    shown = host.run("ip", "-json", "-4", "address", "show", "to", f"{address}/32")
    for link in json.loads(shown or "[]"):  # empty objects stand for other interfaces
        for found in link.get("addr_info", ()):
            if found["local"] == address:
                subnet = ipaddress.IPv4Network((address, found["prefixlen"]), strict=False)
                return Interface(link["ifname"], subnet, link["mtu"])
    raise InventoryError(f"no interface of the machine has the address {address}")
