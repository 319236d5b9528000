"""The addresses that requests of Tacker's v1 API want, for the UserData of the packages."""

from typing import Any


def fixed_ips(cp: Any) -> list[dict[str, str]]:
    """Return Heat's fixed_ips of an extCp; empty leaves the choice to Neutron.

    Tacker's own create_network_dict fails if the request leaves ipOverEthernet out, and keeps
    one of several fixed addresses only.
    """
    return [
        fixed_ip
        for config in cp.cp_config or []
        for protocol in config.cp_protocol_data or []
        if protocol.ip_over_ethernet
        for requested in protocol.ip_over_ethernet.ip_addresses or []
        for fixed_ip in _heat_addresses(requested)
    ]


def _heat_addresses(requested: Any) -> list[dict[str, str]]:
    """Translate one IpAddressReq: its fixed addresses, or an address of its subnet."""
    subnet = {"subnet": requested.subnet_id} if requested.subnet_id else {}
    if requested.fixed_addresses:
        return [{"ip_address": address, **subnet} for address in requested.fixed_addresses]
    return [subnet] if subnet else []
