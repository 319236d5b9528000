"""Turns an instantiate request into the parameters of the private registry's BaseHOT."""

from typing import Any

from tacker.vnfm.lcm_user_data import utils
from tacker.vnfm.lcm_user_data.abstract_user_data import AbstractUserData

from mgmt_drivers.params import registry_ports
from mgmt_drivers.tacker import addresses


class PrivateRegistryUserData(AbstractUserData):
    """The request's lcm-operation-user-data-class."""

    @staticmethod
    def instantiate(
        base_hot_dict: dict[str, Any],
        vnfd_dict: dict[str, Any],
        inst_req_info: Any,
        grant_info: dict[str, Any],
    ) -> dict[str, Any]:
        """Return the BaseHOT's ``nfv`` parameter, as {'nfv': {'VDU': ..., 'CP': ..., ...}}.

        Image and Nova flavor are those which the VNFD names, unless the grant names an image.
        Other parameters that the BaseHOT may have are taken from the request's additionalParams.
        """
        images = utils.create_sw_image_dict(vnfd_dict)
        images.update(utils.create_vdu_image_dict(grant_info or {}))
        parameters: dict[str, Any] = utils.create_final_param_dict(
            utils.create_initial_param_dict(base_hot_dict),
            utils.create_vdu_flavor_capability_name_dict(vnfd_dict),
            images,
            _networks(inst_req_info),
        )
        vdus = parameters["nfv"]["VDU"]
        for vdu in vdus.values():
            vdu["zone"] = ""  # Tacker puts a grant's zone here; otherwise Nova chooses
        # The same once more, for the templates: a heal leaves flavor and image alone in the VDU.
        parameters["nfv"]["zones"] = vdus
        # Tacker's function knows nothing but VDUs and CPs.
        parameters["nfv"].update(_ports(inst_req_info))
        others = utils.get_diff_base_hot_param_from_api(base_hot_dict, inst_req_info)
        return {**others, **parameters}


def _ports(request: Any) -> dict[str, int]:
    """Return the first and the last port that clients are let in to."""
    params = (request.additional_params or {}).get("private_registry_installation_param", {})
    port = int(params.get("port_no") or registry_ports.DEFAULT_PORT)
    last = registry_ports.of_packages(port) if params.get("bundles") else port
    return {"registry_port": port, "registry_last_port": last}


def _networks(request: Any) -> dict[str, dict[str, Any]]:
    """Return network and fixed addresses by connection point."""
    return {
        cp.cpd_id: {"network": link.resource_id, "fixed_ips": addresses.fixed_ips(cp)}
        for link in request.ext_virtual_links or []
        for cp in link.ext_cps
    }
