"""Parameters of the BaseHOT, by Tacker's own functions alone."""

from tacker.vnfm.lcm_user_data import utils
from tacker.vnfm.lcm_user_data.abstract_user_data import AbstractUserData


class KubernetesClusterUserData(AbstractUserData):
    @staticmethod
    def instantiate(base_hot_dict=None, vnfd_dict=None, inst_req_info=None, grant_info=None):
        given = utils.get_diff_base_hot_param_from_api(base_hot_dict, inst_req_info)
        initial = utils.create_initial_param_server_port_dict(base_hot_dict)
        flavors = utils.create_vdu_flavor_capability_name_dict(vnfd_dict)
        images = utils.create_sw_image_dict(vnfd_dict)
        networks = utils.create_network_dict(inst_req_info, initial)
        final = utils.create_final_param_dict(initial, flavors, images, networks)
        return {**final, **given}
