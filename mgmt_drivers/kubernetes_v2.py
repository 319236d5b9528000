"""The script of the Kubernetes cluster VNF for Tacker's v2 API."""

import ipaddress

from mgmt_drivers import kubernetes
from mgmt_drivers.errors import ParameterError
from mgmt_drivers.package import parameter_defaults
from mgmt_drivers.params.kubernetes import NAME, read_params
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.script_v2 import run
from mgmt_drivers.tacker_v2 import Call

_KUBERNETES = "ETSINFV.KUBERNETES.V_1"
_USER_DATA = {
    "lcm-operation-user-data": "./UserData/userdata_standard.py",
    "lcm-operation-user-data-class": "StandardUserData",
}
_KNOWN, _TARGETS, _MARKS = "known_vnfcs", "healed_vnfcs", "node_marks"


def instantiate_start(call: Call) -> None:
    _check_user_data(call)
    names = {vim.get("vimId") for vim in call.instance.get("vimConnectionInfo", {}).values()}
    request = call.lcm_request("instantiate")
    kubernetes.validate(request, lambda name: name in names)
    _check_pod_network(request)


def instantiate_end(call: Call) -> None:
    request = call.lcm_request("instantiate")
    _hand_back(call, kubernetes.instantiate(request, call.surroundings))


def terminate_end(call: Call) -> None:
    call.forget()


def scale_start(call: Call) -> None:
    _check_user_data(call)
    call.keep(_KNOWN, [vnfc.id for vnfc in call.vnfcs])
    if call.request["type"] == "SCALE_IN":
        removed = call.grant_request.get("removeResources", ())
        servers = {r["resource"]["resourceId"] for r in removed if r["type"] == "COMPUTE"}
        going = [vnfc.id for vnfc in call.vnfcs if vnfc.server_id in servers]
        kubernetes.scale_in(call.lcm_request("scale in", going), call.surroundings)


def scale_end(call: Call) -> None:
    if call.request["type"] == "SCALE_OUT":
        known = call.kept(_KNOWN, [])
        new = [vnfc.id for vnfc in call.vnfcs if vnfc.id not in known]
        kubernetes.scale_out(call.lcm_request("scale out", new), call.surroundings)


def scale_rollback_end(call: Call) -> None:
    # The instance is as it was before the operation.
    kubernetes.roll_back_scale_out(call.lcm_request("roll back scale out"), call.surroundings)


def heal_start(call: Call) -> None:
    wanted = call.request.get("vnfcInstanceId") or ()
    info = call.instance["instantiatedVnfInfo"]
    # A VNFC that is replaced gets another id; its place in the VNF keeps its own.
    resources = {v["vnfcResourceInfoId"] for v in info.get("vnfcInfo", ()) if v["id"] in wanted}
    targets = [vnfc.id for vnfc in call.vnfcs if vnfc.resource_id in resources]
    call.keep(_TARGETS, targets)
    if not targets:
        _take_back(call)
        return
    kubernetes.heal_start(
        call.lcm_request("heal", targets),
        call.surroundings,
        call.kept(_MARKS, {}),
        lambda marks: call.keep(_MARKS, marks),
    )


def heal_end(call: Call) -> None:
    targets = call.kept(_TARGETS, [])
    request = call.lcm_request("heal", targets)
    if targets:
        marks = call.kept(_MARKS, {})
        kubernetes.heal_end(request, call.surroundings, marks)
        call.keep(_MARKS, {vnfc: mark for vnfc, mark in marks.items() if vnfc not in targets})
    else:
        _hand_back(call, kubernetes.instantiate(request, call.surroundings))
        call.keep(_MARKS, {})


def _check_user_data(call: Call) -> None:
    """Tacker's default sets other parameters than the templates have: no machine would move."""
    params = call.request.get("additionalParams") or {}
    faults = [
        f"{key}: missing in additionalParams, the package has {value}"
        for key, value in _USER_DATA.items()
        if key not in params
    ]
    if faults:
        raise ParameterError(faults)


def _check_pod_network(request: LcmRequest) -> None:
    """Ports let through what the templates say, which no UserData sets: pods would be cut off."""
    wanted = read_params(request).pod_cidr
    for default in parameter_defaults(request.package, request.flavour, "pod_cidr"):
        if ipaddress.IPv4Network(default, strict=False) != wanted:
            raise ParameterError([
                f"{NAME}.master_node.pod_cidr: the package's ports let {default} through; change "
                f"the default of pod_cidr in BaseHOT/{request.flavour} together with it"
            ])


def _hand_back(call: Call, vim: kubernetes.Vim) -> None:
    """Add the cluster to the instance's VIMs, behind the one that Tacker goes on to use.

    Tacker takes the first. Its key begins the new one's, which is longer: so it stays
    the first in whatever order a database keeps them.
    """
    _take_back(call)
    first = next(iter(call.instance["vimConnectionInfo"]))
    call.instance["vimConnectionInfo"][f"{first}.{vim.name}"] = {
        "vimId": vim.name,
        "vimType": _KUBERNETES,
        "interfaceInfo": {"endpoint": vim.account.url, "ssl_ca_cert": vim.account.ca},
        "accessInfo": {"bearer_token": vim.account.token.reveal()},
    }


def _take_back(call: Call) -> None:
    vims = call.instance.get("vimConnectionInfo") or {}
    call.instance["vimConnectionInfo"] = {
        key: vim for key, vim in vims.items() if vim.get("vimType") != _KUBERNETES
    }


if __name__ == "__main__":
    run(
        {
            hook.__name__: hook
            for hook in (
                instantiate_start, instantiate_end, terminate_end, scale_start, scale_end,
                scale_rollback_end, heal_start, heal_end,
            )
        }
    )
