"""The requests that the scenarios send; the user guide shows these very files."""

from pathlib import Path
from typing import Any

REQUESTS = Path(__file__).parent


def ask_for_address(request: dict[str, Any], address: str) -> None:
    """Let the machine of the first network of a request to instantiate have this address."""
    (point,) = request["extVirtualLinks"][0]["extCps"]
    (data,) = point["cpConfig"][0]["cpProtocolData"]
    data["ipOverEthernet"] = {"ipAddresses": [{"type": "IPV4", "fixedAddresses": [address]}]}
