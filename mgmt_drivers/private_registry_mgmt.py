"""The class that Tacker loads for the private registry VNF; the same bytes lie in the CSAR.

It only translates: Tacker's objects into a request, and what was learned back
into the VNF instance.
"""

import json
from pathlib import Path

from oslo_config import cfg
from tacker.vnflcm import utils as vnflcm_utils
from tacker.vnfm import vim_client
from tacker.vnfm.mgmt_drivers import vnflcm_noop

from mgmt_drivers import private_registry, request

_HOST_KEYS = "mgmt_driver_ssh_host_keys"  # key of VnfInstance.metadata
# Tacker's v1 API wants these in every request; the guide's request leaves them out.
_USER_DATA = {
    "lcm-operation-user-data": "UserData/private_registry_user_data.py",
    "lcm-operation-user-data-class": "PrivateRegistryUserData",
}
_OPTIONS = [
    cfg.StrOpt(
        "trace_dir",
        default="/var/log/tacker/mgmt_drivers",
        help="Folder for the JSON-lines traces of operations; empty for none.",
    )
]
cfg.CONF.register_opts(_OPTIONS, "mgmt_drivers")


class PrivateRegistryMgmtDriver(vnflcm_noop.VnflcmMgmtNoop):
    """Hooks that are not here do nothing."""

    def get_type(self):
        return "mgmt-drivers-private-registry"

    def get_name(self):
        return "mgmt-drivers-private-registry"

    def get_description(self):
        return "Management driver for a Docker private registry"

    def instantiate_start(
        self, context, vnf_instance, instantiate_vnf_request, grant, grant_request, **kwargs
    ):
        params, flavour = _from(instantiate_vnf_request)
        private_registry.validate(_request("instantiate", context, vnf_instance, params, flavour))
        instantiate_vnf_request.additional_params = {**_USER_DATA, **params}

    def instantiate_end(
        self, context, vnf_instance, instantiate_vnf_request, grant, grant_request, **kwargs
    ):
        params, flavour = _from(instantiate_vnf_request)
        private_registry.instantiate(
            _request("instantiate", context, vnf_instance, params, flavour, with_vim=True),
            _trace_folder(),
            lambda keys: _save_host_keys(vnf_instance, keys),
        )

    def heal_start(
        self, context, vnf_instance, heal_vnf_request, grant, grant_request, **kwargs
    ):
        # Heal of the whole VNF instantiates anew, from what Tacker kept of the
        # instantiate request: that lacks what instantiate_start added.
        info = vnf_instance.instantiated_vnf_info
        info.additional_params = {**_USER_DATA, **(info.additional_params or {})}

    def heal_end(self, context, vnf_instance, heal_vnf_request, grant, grant_request, **kwargs):
        params, flavour = _from(vnf_instance.instantiated_vnf_info)
        private_registry.heal(
            _request("heal", context, vnf_instance, params, flavour, with_vim=True),
            _trace_folder(),
            lambda keys: _save_host_keys(vnf_instance, keys),
        )


def _from(source):
    """The instantiate request's parameters, from itself or from what Tacker keeps of it."""
    return source.additional_params or {}, source.flavour_id


def _request(operation, context, vnf_instance, params, flavour, with_vim=False):
    package = vnflcm_utils._get_vnf_package_path(context, vnf_instance.vnfd_id)
    return request.from_v1(
        operation,
        vnf_instance,
        params,
        vnflcm_utils.get_vnfd_dict(context, vnf_instance.vnfd_id, flavour),
        Path(package),
        vim=_vim(context, vnf_instance) if with_vim else None,
        host_keys=json.loads((vnf_instance.vnf_metadata or {}).get(_HOST_KEYS, "{}")),
    )


def _vim(context, vnf_instance):
    connections = [c for c in vnf_instance.vim_connection_info if c.vim_type == "openstack"]
    vim_id = connections[0].vim_id if connections else None
    region = (connections[0].access_info or {}).get("region") if connections else None
    vim = vim_client.VimClient().get_vim(context, vim_id, region_name=region)
    return request.vim_access_from_v1(vim)


def _trace_folder():
    folder = cfg.CONF.mgmt_drivers.trace_dir
    return Path(folder) if folder else None


def _save_host_keys(vnf_instance, keys):
    kept = dict(vnf_instance.vnf_metadata or {})
    kept[_HOST_KEYS] = json.dumps(keys)
    vnf_instance.vnf_metadata = kept
    vnf_instance.save()
