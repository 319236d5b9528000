"""Network interfaces of a machine."""

import ipaddress
import json
import re
from dataclasses import dataclass

from mgmt_drivers import grammar
from mgmt_drivers.errors import InventoryError
from mgmt_drivers.host import facts
from mgmt_drivers.host.host import Host

_MTU = re.compile(r"[1-9][0-9]{2,4}")


@dataclass(frozen=True)
class Interface:
    """An interface by its name, the subnet of its address, and its MTU in bytes."""

    name: str
    subnet: ipaddress.IPv4Network
    mtu: int


def having(host: Host, address: str) -> Interface:
    """The interface that has an IPv4 address.

    :raises InventoryError: when none has
    :raises MgmtDriverError: when the machine reports something else than an interface
    """
    shown = host.run("ip", "-json", "-4", "address", "show", "to", f"{address}/32")
    for link in json.loads(shown or "[]"):  # empty objects stand for other interfaces
        for found in link.get("addr_info", ()):
            if found["local"] == address:
                subnet = grammar.ipv4_network(f"{address}/{found['prefixlen']}")
                name = facts.checked(link["ifname"], facts.INTERFACE, "the name of an interface")
                mtu = int(facts.checked(str(link["mtu"]), _MTU, "an MTU in bytes"))
                if subnet:
                    return Interface(name, subnet, mtu)
    raise InventoryError(f"no interface of the machine has the address {address}")
