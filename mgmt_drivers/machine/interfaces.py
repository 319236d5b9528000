"""Network interfaces of a machine."""

import json

from mgmt_drivers.errors import InventoryError
from mgmt_drivers.machine import answers
from mgmt_drivers.machine.host import Host


def find(host: Host, address: str) -> str:
    """Find the interface that has an IPv4 address; raises InventoryError if there is none."""
    text = host.run("ip", "-json", "-4", "address", "show", "to", f"{address}/32")
    for link in json.loads(text or "[]"):  # empty objects stand for other interfaces
        if any(info["local"] == address for info in link.get("addr_info", ())):
            return answers.checked(link["ifname"], answers.INTERFACE, "the name of an interface")
    raise InventoryError(f"no interface of the machine has the address {address}")
