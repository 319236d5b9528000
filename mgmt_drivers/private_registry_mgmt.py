"""The class that Tacker loads for the private registry VNF; the CSAR has the same file."""

from mgmt_drivers.operations import registry
from mgmt_drivers.registry.registry_params import MODIFICATION, read_params
from mgmt_drivers.tacker.v1 import (
    InstanceStore,
    MgmtDriver,
    keep_attributes,
    lcm_request,
    services,
)


class PrivateRegistryMgmtDriver(MgmtDriver):
    """The hooks of the private registry VNF; other hooks do nothing."""

    name = "mgmt-drivers-private-registry"
    description = "Management driver for a Docker private registry"
    user_data = ("UserData/private_registry_user_data.py", "PrivateRegistryUserData")

    def instantiate_start(self, context, vnf_instance, instantiate_vnf_request, **kwargs):
        source = instantiate_vnf_request
        read_params(lcm_request("instantiate", context, vnf_instance, source))
        self.add_user_data(context, vnf_instance, source)

    def instantiate_end(self, context, vnf_instance, instantiate_vnf_request, vnf, **kwargs):
        keep_attributes(context, vnf)
        request = lcm_request("instantiate", context, vnf_instance, instantiate_vnf_request)
        registry.instantiate(request, services(context, vnf_instance))

    def heal_end(self, context, vnf_instance, heal_vnf_request, **kwargs):
        request = lcm_request("heal", context, vnf_instance)
        registry.instantiate(request, services(context, vnf_instance))

    def modify_information_end(self, context, vnf_instance, modify_vnf_request=None, **kwargs):
        # Tacker passes no request, but has merged the request's metadata into the instance's.
        modification = (vnf_instance.vnf_metadata or {}).get(MODIFICATION)
        if modification:
            request = lcm_request("modify", context, vnf_instance)
            registry.add_bundles(request, services(context, vnf_instance), modification)
            InstanceStore(vnf_instance).remove(MODIFICATION)

    def terminate_start(self, context, vnf_instance, terminate_vnf_request, **kwargs):
        registry.check_unlocked(
            vnf_instance.id,
            services(context, vnf_instance),
            lambda: lcm_request("terminate", context, vnf_instance),
        )
