"""The class that Tacker loads for the Kubernetes cluster VNF; the CSAR has the same file."""

from dataclasses import replace

from mgmt_drivers.cluster.backup.backup_params import RESTORE
from mgmt_drivers.cluster.modification import NAME as MODIFICATION
from mgmt_drivers.errors import Explained, MgmtDriverError
from mgmt_drivers.operations import heal, instantiate, modify, scale_in, scale_out, terminate
from mgmt_drivers.tacker import v1
from mgmt_drivers.tacker.vims_v1 import RegisteredVims


class KubernetesMgmtDriver(v1.MgmtDriver):
    """The hooks of the Kubernetes cluster VNF; other hooks do nothing."""

    name = "mgmt-drivers-kubernetes"
    description = "Management driver for a kubeadm Kubernetes cluster"
    user_data = ("UserData/k8s_cluster_user_data.py", "KubernetesClusterUserData")

    def instantiate_start(self, context, vnf_instance, instantiate_vnf_request, **kwargs):
        source = instantiate_vnf_request
        request = v1.lcm_request("instantiate", context, vnf_instance, source)
        instantiate.validate(request, RegisteredVims(context, vnf_instance))
        self.add_user_data(context, vnf_instance, source)

    def instantiate_end(self, context, vnf_instance, instantiate_vnf_request, vnf, **kwargs):
        v1.keep_attributes(context, vnf)
        source = instantiate_vnf_request
        request = v1.lcm_request("instantiate", context, vnf_instance, source)
        _run(instantiate.instantiate, request, context, vnf_instance)

    def scale_start(self, context, vnf_instance, scale_vnf_request, **kwargs):
        # Also called by the rollback of a scale-out, without ids if Heat had created no stack yet.
        leaving = _of_stacks(vnf_instance, kwargs.get("scale_out_id_list") or ())
        if leaving:
            aspect = scale_vnf_request.aspect_id
            request = v1.lcm_request(
                "scale in", context, vnf_instance, targets=leaving, aspect=aspect
            )
            _run(scale_in.scale_in, request, context, vnf_instance)

    def scale_end(self, context, vnf_instance, scale_vnf_request, **kwargs):
        new = _of_stacks(vnf_instance, kwargs["scale_out_id_list"])
        aspect = scale_vnf_request.aspect_id
        request = v1.lcm_request("scale out", context, vnf_instance, targets=new, aspect=aspect)
        try:
            _run(scale_out.scale_out, request, context, vnf_instance)
        except MgmtDriverError as error:
            more = (
                "Roll this operation back and scale out again: Tacker's retry of a scale-out does "
                "not call the driver"
            )
            raise Explained(error, more) from error

    def heal_start(self, context, vnf_instance, heal_vnf_request, **kwargs):
        super().heal_start(context, vnf_instance, heal_vnf_request)
        request = _heal_request(context, vnf_instance, heal_vnf_request)
        _run(heal.heal_start, request, context, vnf_instance)

    def heal_end(self, context, vnf_instance, heal_vnf_request, **kwargs):
        request = _heal_request(context, vnf_instance, heal_vnf_request)
        _run(heal.heal_end, request, context, vnf_instance)

    def modify_information_end(self, context, vnf_instance, modify_vnf_request=None, **kwargs):
        # Tacker passes no request, but has merged the request's metadata into the instance's.
        modification = (vnf_instance.vnf_metadata or {}).get(MODIFICATION)
        if modification:
            request = v1.lcm_request("upgrade", context, vnf_instance)
            _run(modify.modify, request, context, vnf_instance, modification)
            v1.InstanceStore(vnf_instance).remove(MODIFICATION)
        elif v1.is_package_named(context, vnf_instance):
            request = v1.lcm_request("upgrade", context, vnf_instance)
            modify.check_package(request, v1.InstanceStore(vnf_instance))

    def terminate_start(self, context, vnf_instance, terminate_vnf_request, **kwargs):
        terminate.check_unlocked(
            vnf_instance.id,
            v1.services(context, vnf_instance),
            lambda: v1.lcm_request("terminate", context, vnf_instance),
        )
        RegisteredVims(context, vnf_instance).unregister()

    def terminate_end(self, context, vnf_instance, terminate_vnf_request, **kwargs):
        RegisteredVims(context, vnf_instance).unregister()
        super().terminate_end(context, vnf_instance, terminate_vnf_request)


def _run(operate, request, context, vnf_instance, *arguments):
    vims = RegisteredVims(context, vnf_instance)
    operate(request, v1.services(context, vnf_instance), vims, *arguments)


def _heal_request(context, vnf_instance, heal_vnf_request):
    """The request of a heal. A heal of the whole VNF makes a new stack, with new volumes."""
    targets = heal_vnf_request.vnfc_instance_id or ()
    request = v1.lcm_request("heal", context, vnf_instance, targets=targets)
    restore_from = (heal_vnf_request.additional_params or {}).get(RESTORE)
    return replace(request, restore_from=restore_from, keeps_volumes=False)


def _of_stacks(vnf_instance, stack_ids):
    """The ids of the VNFCs in stacks, which are members of a scaling group."""
    return [
        vnfc.id
        for vnfc in vnf_instance.instantiated_vnf_info.vnfc_resource_info
        if (vnfc.metadata or {}).get("stack_id") in stack_ids
    ]
