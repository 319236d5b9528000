"""Turns an instantiate request into the parameters of the Kubernetes cluster's BaseHOT."""

from typing import Any

from tacker.vnfm.lcm_user_data import utils
from tacker.vnfm.lcm_user_data.abstract_user_data import AbstractUserData

_MASTER_CP = "masterNode_CP1"
_VIRTUAL_IP_CP = "vip_CP"


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
        parameters: dict[str, Any] = utils.create_final_param_dict(
            utils.create_initial_param_dict(base_hot_dict),
            utils.create_vdu_flavor_capability_name_dict(vnfd_dict),
            images,
            _connection_points(inst_req_info),
        )
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


def _connection_points(request: Any) -> dict[str, dict[str, Any]]:
    """Return the network of each connection point.

    Addresses are Neutron's choice: a scaling group cannot give each of its VMs another. The
    virtual IP, which the guide's requests leave out, lies in the masters' network.
    """
    points = {
        cp.cpd_id: {"network": link.resource_id}
        for link in request.ext_virtual_links or []
        for cp in link.ext_cps
    }
    if _MASTER_CP in points:
        points.setdefault(_VIRTUAL_IP_CP, points[_MASTER_CP])
    return points
