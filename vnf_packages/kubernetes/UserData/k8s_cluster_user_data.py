"""Turns an instantiate request into the parameters of the Kubernetes cluster's BaseHOT."""

from collections.abc import Iterable
from typing import Any

from tacker.vnfm.lcm_user_data import utils
from tacker.vnfm.lcm_user_data.abstract_user_data import AbstractUserData

from mgmt_drivers.tacker import addresses

_MASTER_CP = "masterNode_CP1"


class KubernetesClusterUserData(AbstractUserData):
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
        Other parameters that the BaseHOT may have are taken from the request's additionalParams.
        """
        images = utils.create_sw_image_dict(vnfd_dict)
        images.update(utils.create_vdu_image_dict(grant_info or {}))
        initial = utils.create_initial_param_dict(base_hot_dict)
        points = _connection_points(inst_req_info, initial["nfv"]["CP"])
        _check_addresses(base_hot_dict["heat_template"], points)
        parameters: dict[str, Any] = utils.create_final_param_dict(
            initial,
            utils.create_vdu_flavor_capability_name_dict(vnfd_dict),
            images,
            points,
        )
        vdus = parameters["nfv"]["VDU"]
        for vdu in vdus.values():
            vdu["zone"] = ""  # Tacker puts a grant's zone here; otherwise Nova chooses
        # The same once more, for the templates: a heal leaves flavor and image alone in the VDU.
        parameters["nfv"]["zones"] = vdus
        others = utils.get_diff_base_hot_param_from_api(base_hot_dict, inst_req_info)
        return {**others, **parameters}

    @staticmethod
    def scale(
        base_hot_dict: dict[str, Any],
        vnfd_dict: dict[str, Any],
        scale_request: Any,
        vnf_instance: Any,
        instantiated_info: Any,
        parameters: dict[str, Any],
        size: int,
    ) -> dict[str, Any]:
        """Return the stack's parameters with the size that a scaling group is to have.

        Tacker asks when it updates the stack instead of using a policy, such as for the rollback
        of a scale-out. Heat would go back to the size at instantiation, and delete workers.
        """
        return {**parameters, f"{scale_request.aspect_id}_desired_capacity": size}


def _connection_points(request: Any, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return network and fixed addresses of each connection point that the BaseHOT names.

    Points that the request leaves out lie in the masters' network and subnets: the virtual IP, and
    a storage server of the package that the cluster does not use.
    """
    points = {
        cp.cpd_id: {"network": link.resource_id, "fixed_ips": addresses.fixed_ips(cp)}
        for link in request.ext_virtual_links or []
        for cp in link.ext_cps
    }
    if _MASTER_CP not in points:
        raise ValueError(
            f'extVirtualLinks must have a link with an extCp whose cpdId is "{_MASTER_CP}"'
        )
    masters = points[_MASTER_CP]
    subnets = [{"subnet": ip["subnet"]} for ip in masters["fixed_ips"] if "subnet" in ip]
    return {**dict.fromkeys(names, {**masters, "fixed_ips": subnets}), **points}


def _check_addresses(base_hot: dict[str, Any], points: dict[str, dict[str, Any]]) -> None:
    """Check that each fixed address is for one machine: a group gives the same to all of its own.

    :raises ValueError: a group can have several machines, and its connection point an address
    """
    for name, resource in base_hot["resources"].items():
        group = resource.get("properties", {})
        if resource["type"] != utils.AUTO_SCALING_GROUP or group.get("max_size") == 1:
            continue
        for value in group["resource"].get("properties", {}).values():
            path = value.get("get_param") if isinstance(value, dict) else None
            is_taken = isinstance(path, list) and path[-1] == "fixed_ips"
            if is_taken and any("ip_address" in ip for ip in points[path[2]]["fixed_ips"]):
                raise ValueError(
                    f'extVirtualLinks: the extCp "{path[2]}" has fixedAddresses, but group {name} '
                    "can have several machines, and would give them to each: leave them out; a "
                    "subnetId may stay"
                )
