"""Turns an instantiate request into the parameters of the Kubernetes cluster's BaseHOT."""

from collections.abc import Iterable
from typing import Any

from tacker.vnfm.lcm_user_data import utils
from tacker.vnfm.lcm_user_data.abstract_user_data import AbstractUserData

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
        parameters: dict[str, Any] = utils.create_final_param_dict(
            initial,
            utils.create_vdu_flavor_capability_name_dict(vnfd_dict),
            images,
            _connection_points(inst_req_info, initial["nfv"]["CP"]),
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


def _connection_points(request: Any, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the network of each connection point that the BaseHOT names.

    Addresses are Neutron's choice: a scaling group cannot give each of its VMs another. Points that
    the request leaves out lie in the masters' network: the virtual IP, and a storage server of the
    package that the cluster does not use.
    """
    points = {
        cp.cpd_id: {"network": link.resource_id}
        for link in request.ext_virtual_links or []
        for cp in link.ext_cps
    }
    if _MASTER_CP not in points:
        raise ValueError(
            f'extVirtualLinks must have a link with an extCp whose cpdId is "{_MASTER_CP}"'
        )
    return {**dict.fromkeys(names, points[_MASTER_CP]), **points}
