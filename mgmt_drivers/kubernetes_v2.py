"""The script of the Kubernetes cluster VNF for Tacker's v2 API."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from mgmt_drivers.cluster.backup.backup_params import RESTORE
from mgmt_drivers.cluster.modification import NAME as MODIFICATION
from mgmt_drivers.cluster.modification import of_package
from mgmt_drivers.errors import InventoryError, ParameterError
from mgmt_drivers.operations import heal, instantiate, modify, scale_in, scale_out, terminate
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.tacker.v2 import USER_DATA, Call, resource_ids
from mgmt_drivers.tacker.v2_process import run
from mgmt_drivers.tacker.vims_v2 import InstanceVims

LOG = logging.getLogger(__name__)

Values = Mapping[str, str]
Replace = Callable[[Call, Mapping[str, Values]], None]

# Keys of values that are kept between hooks.
_KNOWN, _TARGETS, _REPLACED = "known_vnfcs", "healed_vnfcs", "replaced_vnfcs"
_UPGRADE = "upgrade_of_package"
# Tacker forgets them in the rollback of a change of the package, and saves the instance.
_SCALING, _OF_SCALING = "scaling", ("scaleStatus", "maxScaleLevels", "localizationLanguage")


def instantiate_start(call: Call) -> None:
    check_user_data(call)
    instantiate.validate(call.lcm_request("instantiate"), InstanceVims(call))


def instantiate_end(call: Call) -> None:
    call.register_servers()
    request = call.lcm_request("instantiate")
    instantiate.instantiate(request, call.services, InstanceVims(call))


def instantiate_rollback_start(call: Call) -> None:
    call.register_servers()


def terminate_start(call: Call) -> None:
    terminate.check_unlocked(
        call.instance["id"], call.services, lambda: call.lcm_request("terminate")
    )
    call.register_servers()


def terminate_end(call: Call) -> None:
    call.forget()


def scale_start(call: Call) -> None:
    names_user_data = _names_user_data(call)
    note_upgrade(call)
    call.store.save(_KNOWN, [vnfc.id for vnfc in call.vnfcs])
    if call.request["type"] == "SCALE_IN":
        removed = call.grant_request.get("removeResources", ())
        servers = {r["resource"]["resourceId"] for r in removed if r["type"] == "COMPUTE"}
        leaving = [vnfc.id for vnfc in call.vnfcs if vnfc.server_id in servers]
        request = call.lcm_request("scale in", leaving)
        scale_in.scale_in(request, call.services, InstanceVims(call))
    else:
        scale_out.check_scale_out(call.lcm_request("scale out"), call.services, _coming(call))
    call.register_servers()
    if not names_user_data:
        _scale_stack(call, "scale")


def scale_end(call: Call) -> None:
    if call.request["type"] == "SCALE_OUT":
        known = call.store.load(_KNOWN, [])
        new = [vnfc.id for vnfc in call.vnfcs if vnfc.id not in known]
        request = call.lcm_request("scale out", new)
        scale_out.scale_out(request, call.services, InstanceVims(call))
    call.register_servers()


def scale_rollback_start(call: Call) -> None:
    # The instance is in its state before the operation; the new machines still exist.
    request = call.lcm_request("roll back scale out")
    scale_out.begin_roll_back(request, call.services, _coming(call))
    call.register_servers()
    if not _names_user_data(call):
        _scale_stack(call, "scale_rollback")


def scale_rollback_end(call: Call) -> None:
    request = call.lcm_request("roll back scale out")
    scale_out.roll_back_scale_out(request, call.services, _coming(call))


def _scale_stack(call: Call, method: str) -> None:
    from mgmt_drivers.tacker import stack  # needs Tacker

    stack.scale(call, method)


def heal_start(call: Call) -> None:
    note_upgrade(call)
    requested = call.request.get("vnfcInstanceId") or ()
    # A VNFC that is replaced gets another id in Tacker; the drivers' id is VDU and index.
    places = resource_ids(call)
    infos = {info["id"]: info["vnfcResourceInfoId"] for info in call.info.get("vnfcInfo", ())}
    unknown = sorted(id_ for id_ in requested if infos.get(id_) not in places)
    if unknown:
        raise InventoryError(
            f"the VNF does not have the VNFCs {', '.join(unknown)} of vnfcInstanceId"
        )
    resources = {infos[id_] for id_ in requested}
    targets = [vnfc for resource, vnfc in places.items() if resource in resources]
    call.store.save(_TARGETS, targets)
    heal.heal_start(_heal_request(call, targets), call.services, InstanceVims(call))
    call.register_servers()


def heal_end(call: Call) -> None:
    request = _heal_request(call, call.store.load(_TARGETS, []))
    heal.heal_end(request, call.services, InstanceVims(call))
    call.register_servers()


def _heal_request(call: Call, targets: Iterable[str]) -> LcmRequest:
    """The request of a heal. With ``all`` a heal of the whole VNF makes new volumes, too."""
    params = call.request.get("additionalParams") or {}
    return replace(
        call.lcm_request("heal", targets),
        restore_from=params.get(RESTORE),
        keeps_volumes=not params.get("all"),
        is_automatic=call.is_automatic,
    )


def modify_information_start(call: Call) -> None:
    modification = (call.request.get("metadata") or {}).get(MODIFICATION)
    if modification:
        modify.validate(call.lcm_request("upgrade"), call.store, modification)


def modify_information_end(call: Call) -> None:
    modification = (call.request.get("metadata") or {}).get(MODIFICATION)
    if modification:
        modify.modify(call.lcm_request("upgrade"), call.services, InstanceVims(call), modification)
        call.store.remove(MODIFICATION)


def change_current_package_start(call: Call) -> None:
    modification = of_new_package(call)
    if modification:
        asked = modify.validate(call.lcm_request("upgrade"), call.store, modification)
        call.store.memory[_UPGRADE] = asked.upgrade  # the hooks of a rollback have the old package
    else:
        modify.check_package(call.lcm_request("upgrade"), call.store)
    vdus = _vdus_to_replace(call)
    if not vdus:
        return
    _note_change(call, modification)
    from mgmt_drivers.tacker import stack  # needs Tacker

    values = {vdu: stack.values_of_package(call, vdu) for vdu in vdus}
    machines = {v.id: values[vdu] for vdu in vdus for v in call.vnfcs if v.vdu_id == vdu}
    replace_machines(call, machines, stack.replace_machine)


def change_current_package_end(call: Call) -> None:
    modification = of_new_package(call)
    if modification:
        modify.modify(call.lcm_request("upgrade"), call.services, InstanceVims(call), modification)
    call.store.save(_REPLACED, [])


def change_current_package_rollback_start(call: Call) -> None:
    call.store.memory[_SCALING] = {key: call.info[key] for key in _OF_SCALING if key in call.info}
    vdus = _vdus_to_replace(call)
    if not vdus:
        return
    try:
        asked = call.request["additionalParams"].get(MODIFICATION)
        _note_change(call, asked or call.store.memory.get(_UPGRADE))
    except ParameterError as error:  # the old package may lack a file; the cluster may not need it
        LOG.warning("VNF %s: the upgrade is not noted: %s", call.instance["id"], error)
    from mgmt_drivers.tacker import stack  # needs Tacker

    # The instance is in its state before the operation.
    before, now = call.info["metadata"]["nfv"]["VDU"], stack.read_values(call)
    noted = _load_replaced(call)
    # Nothing is noted of an attempt whose conductor has died.
    changed = [v.id for v in call.vnfcs if v.vdu_id in vdus and now[v.id] != before[v.id]]
    for vnfc in [*reversed(noted), *(each for each in changed if each not in noted)]:
        values = {key: value for key, value in before[vnfc].items() if value is not None}
        _replace_machine(call, vnfc, values, stack.replace_machine)
        _note_replaced(call, vnfc, None)


def change_current_package_rollback_end(call: Call) -> None:
    call.info.update(call.store.memory[_SCALING])


def replace_machines(call: Call, machines: Mapping[str, Values], replace_machine: Replace) -> None:
    """Replace machines one after another, without those that an earlier attempt has replaced.

    :param machines: by VNFC, what the stack's parameter nfv is to have of it: the image, the flavor
    :param replace_machine: lets Heat replace the machine of a heal
    """
    heal.check_replaced(call.lcm_request("heal"), call.services, machines)
    for vnfc, values in machines.items():
        if not _load_replaced(call).get(vnfc):
            _replace_machine(call, vnfc, values, replace_machine)
            _note_replaced(call, vnfc, True)


def _replace_machine(call: Call, vnfc: str, values: Values, replace_machine: Replace) -> None:
    """Replace the machine of a VNFC as a heal does: the node leaves the cluster before."""
    _note_replaced(call, vnfc, False)
    healing = call.of_heal("heal_start", vnfc)
    heal_start(healing)
    replace_machine(healing, {vnfc: values})
    healing.operation = "heal_end"
    heal_end(healing)


def _note_replaced(call: Call, vnfc: str, is_complete: bool | None) -> None:
    """Note for a retry and a rollback how far a VNFC is; None: as before the operation."""
    noted = {**_load_replaced(call), vnfc: is_complete}
    call.store.save(_REPLACED, [each for each in noted.items() if each[1] is not None])


def _load_replaced(call: Call) -> dict[str, bool]:
    """Load how far VNFCs are, in the order of their replacement, which MySQL keeps in a list."""
    return dict(call.store.load(_REPLACED, []))


def _note_change(call: Call, modification: Any) -> None:
    """Note what an attempt may have done to the cluster that the new machines are to join."""
    if modification:
        request = call.lcm_request("upgrade")
        modify.note_change(request, call.store, modify.validate(request, call.store, modification))


def _vdus_to_replace(call: Call) -> list[str]:
    return [each["vdu_id"] for each in call.request["additionalParams"].get("vdu_params", ())]


def note_upgrade(call: Call) -> None:
    """Note the upgrade or logins that a heal or scaling names: Tacker keeps nothing of a failure.

    :raises ParameterError: if the request is not valid
    """
    modification = (call.request.get("additionalParams") or {}).get(MODIFICATION)
    if modification:
        modify.note_wanted(call.lcm_request("upgrade"), call.store, modification)


def _coming(call: Call) -> Mapping[str, int]:
    """The number of new machines in the grant request, by VDU (ETSI SOL003 9.5.2.2)."""
    added = call.grant_request.get("addResources", ())
    return Counter(r["resourceTemplateId"] for r in added if r["type"] == "COMPUTE")


def of_new_package(call: Call) -> Any:
    """Read the modification from the request, or else from the new VNF package.

    :raises ParameterError: if the request is not valid
    """
    check_user_data(call)
    params = call.request.get("additionalParams") or {}
    return params.get(MODIFICATION) or of_package(call.package)


def _names_user_data(call: Call) -> bool:
    """Whether Tacker scales the stack with the package's UserData, or a hook has to.

    :raises ParameterError: if the request names it by half, which Tacker would refuse too late
    """
    names = bool(USER_DATA.keys() & (call.request.get("additionalParams") or {}).keys())
    if names:
        check_user_data(call)
    return names


def check_user_data(call: Call) -> None:
    """:raises ParameterError: if the request leaves out the package's UserData"""
    params = call.request.get("additionalParams") or {}
    errors = [
        f"{key}: missing in additionalParams, the package has {value}"
        for key, value in USER_DATA.items()
        if key not in params
    ]
    if errors:
        raise ParameterError(errors)


if __name__ == "__main__":
    run(globals())
