"""The class that Tacker loads for the Kubernetes cluster VNF; the same bytes lie in the CSAR."""

from mgmt_drivers import kubernetes, vims_v1
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.tacker_v1 import MgmtDriver, keep, kept, lcm_request, surroundings

_MARKS = "mgmt_driver_node_marks"  # key of VnfInstance.vnf_metadata, during a heal


class KubernetesMgmtDriver(MgmtDriver):
    """Hooks that are not here do nothing."""

    name = "mgmt-drivers-kubernetes"
    description = "Management driver for a kubeadm Kubernetes cluster"
    user_data = ("UserData/k8s_cluster_user_data.py", "KubernetesClusterUserData")

    def instantiate_start(self, context, vnf_instance, instantiate_vnf_request, **kwargs):
        source = instantiate_vnf_request
        kubernetes.validate(
            lcm_request("instantiate", context, vnf_instance, source, with_vim=False),
            lambda name: vims_v1.is_taken(context, vnf_instance, name),
        )
        self.add_user_data(source)

    def instantiate_end(self, context, vnf_instance, instantiate_vnf_request, **kwargs):
        vim = kubernetes.instantiate(
            lcm_request("instantiate", context, vnf_instance, instantiate_vnf_request),
            surroundings(vnf_instance),
        )
        vims_v1.register(context, vnf_instance, vim)

    def scale_start(self, context, vnf_instance, scale_vnf_request, **kwargs):
        # A rollback of a scale-out comes here too; without any where Heat had none yet.
        going = _of_stacks(vnf_instance, kwargs.get("scale_out_id_list") or ())
        if not going:
            return
        request = _later("scale in", context, vnf_instance, going)
        kubernetes.scale_in(request, surroundings(vnf_instance))

    def scale_end(self, context, vnf_instance, scale_vnf_request, **kwargs):
        new = _of_stacks(vnf_instance, kwargs["scale_out_id_list"])
        request = _later("scale out", context, vnf_instance, new)
        try:
            kubernetes.scale_out(request, surroundings(vnf_instance))
        except MgmtDriverError as error:
            raise MgmtDriverError(
                f"{error}. Roll this operation back and scale out again: Tacker's retry of a "
                "scale-out does not call the driver"
            ) from error

    def heal_start(self, context, vnf_instance, heal_vnf_request, **kwargs):
        targets = heal_vnf_request.vnfc_instance_id
        if not targets:
            super().heal_start(context, vnf_instance, heal_vnf_request)
            vims_v1.unregister(context, vnf_instance)
            return
        request = _later("heal", context, vnf_instance, targets)
        kubernetes.heal_start(
            request,
            surroundings(vnf_instance),
            kept(vnf_instance, _MARKS),
            lambda marks: keep(vnf_instance, _MARKS, marks),
        )

    def heal_end(self, context, vnf_instance, heal_vnf_request, **kwargs):
        targets = heal_vnf_request.vnfc_instance_id
        request = _later("heal", context, vnf_instance, targets or ())
        if targets:
            marks = kept(vnf_instance, _MARKS)
            kubernetes.heal_end(request, surroundings(vnf_instance), marks)
            rest = {vnfc: mark for vnfc, mark in marks.items() if vnfc not in targets}
            keep(vnf_instance, _MARKS, rest)
        else:
            vim = kubernetes.instantiate(request, surroundings(vnf_instance))
            vims_v1.register(context, vnf_instance, vim)
            keep(vnf_instance, _MARKS, {})

    def terminate_start(self, context, vnf_instance, terminate_vnf_request, **kwargs):
        vims_v1.unregister(context, vnf_instance)

    def terminate_end(self, context, vnf_instance, terminate_vnf_request, **kwargs):
        vims_v1.unregister(context, vnf_instance)
        super().terminate_end(context, vnf_instance, terminate_vnf_request)


def _later(operation, context, vnf_instance, targets):
    """The request of an operation on a VNF that is instantiated."""
    source = vnf_instance.instantiated_vnf_info
    return lcm_request(operation, context, vnf_instance, source, targets=targets)


def _of_stacks(vnf_instance, stack_ids):
    """Ids of the VNFCs in the members of a scaling group."""
    return [
        vnfc.id
        for vnfc in vnf_instance.instantiated_vnf_info.vnfc_resource_info
        if (vnfc.metadata or {}).get("stack_id") in stack_ids
    ]
