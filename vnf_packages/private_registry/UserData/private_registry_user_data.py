"""Turns an instantiate request into the parameters of the private registry's BaseHOT."""

from typing import Any

from tacker.vnfm.lcm_user_data import utils
from tacker.vnfm.lcm_user_data.abstract_user_data import AbstractUserData


class PrivateRegistryUserData(AbstractUserData):
    """The request's lcm-operation-user-data-class."""

    @staticmethod
    def instantiate(
        base_hot_dict: dict[str, Any],
        vnfd_dict: dict[str, Any],
        inst_req_info: Any,
        grant_info: dict[str, Any],
    ) -> dict[str, Any]:
        """Return the BaseHOT's ``nfv`` parameter, as {'nfv': {'VDU': ..., 'CP': ...}}.

        Image and Nova flavor are those which the VNFD names, unless the grant names an image.
        """
        images = utils.create_sw_image_dict(vnfd_dict)
        images.update(utils.create_vdu_image_dict(grant_info or {}))
        return utils.create_final_param_dict(
            utils.create_initial_param_dict(base_hot_dict),
            utils.create_vdu_flavor_capability_name_dict(vnfd_dict),
            images,
            _networks(inst_req_info),
        )


def _networks(request: Any) -> dict[str, dict[str, Any]]:
    """Return network and fixed addresses by connection point.

    Tacker's own create_network_dict fails where the request leaves ipOverEthernet out, and keeps
    one of several fixed addresses only.
    """
    return {
        cp.cpd_id: {"network": link.resource_id, "fixed_ips": _fixed_ips(cp)}
        for link in request.ext_virtual_links or []
        for cp in link.ext_cps
    }


def _fixed_ips(cp: Any) -> list[dict[str, str]]:
    """Return Heat's fixed_ips of a connection point; empty leaves the choice to Neutron."""
    return [
        fixed_ip
        for config in cp.cp_config or []
        for protocol in config.cp_protocol_data or []
        if protocol.ip_over_ethernet
        for wanted in protocol.ip_over_ethernet.ip_addresses or []
        for fixed_ip in _heat_addresses(wanted)
    ]


def _heat_addresses(wanted: Any) -> list[dict[str, str]]:
    """Translate one IpAddressReq: its fixed addresses, or an address of its subnet."""
    subnet = {"subnet": wanted.subnet_id} if wanted.subnet_id else {}
    if wanted.fixed_addresses:
        return [{"ip_address": address, **subnet} for address in wanted.fixed_addresses]
    return [subnet] if subnet else []
