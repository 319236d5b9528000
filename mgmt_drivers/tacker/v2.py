"""The call of a script by Tacker's v2 API: the hook's input, and the answer.

Input and answer are dictionaries, and no module of Tacker is imported.
"""

import copy
import json
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from mgmt_drivers.engine import trace
from mgmt_drivers.engine.services import KEY_PREFIX, Services, Store, load_kept
from mgmt_drivers.errors import InventoryError
from mgmt_drivers.inventory import VimAccess
from mgmt_drivers.request import LcmRequest, Vnfc
from mgmt_drivers.tacker import vnfd

LOG = logging.getLogger(__name__)

_OPENSTACK = "ETSINFV.OPENSTACK_KEYSTONE.V_3"
PARAMS = "params"  # key of the parameters of the instantiate request
# Tacker's default UserData sets parameters that the templates do not have.
USER_DATA = {
    "lcm-operation-user-data": "./UserData/userdata_standard.py",
    "lcm-operation-user-data-class": "StandardUserData",
}
# Parameters of an instantiate request, which Tacker's driver keeps in instantiatedVnfInfo.metadata.
_NOTIFIER = {"ServerNotifierUri", "ServerNotifierFaultID"}


# Makes the services of a hook from a function for the access to the VNF's Heat, and a store.
MakeServices = Callable[[Callable[[], VimAccess], Store], Services]


class CallStore:
    """A :class:`mgmt_drivers.engine.services.Store` in the data that Tacker gives to later hooks.

    Tacker gives ``memory`` to later hooks, even of a retry, and saves the instance only when the
    operation has succeeded.
    """

    def __init__(self, instance: dict[str, Any], memory: Mapping[str, Any]) -> None:
        self._instance = instance
        self.memory = dict(memory)
        self._saving = threading.Lock()

    def load(self, key: str, default: Any) -> Any:
        if key in self.memory:
            return self.memory[key]
        return load_kept(self._instance.get("metadata"), key, default)

    def save(self, key: str, value: Any) -> None:
        self.memory[key] = value
        self.save_secret(key, value)

    def save_secret(self, key: str, value: Any) -> None:
        """Save in the instance only: ``memory`` is part of an operation's error."""
        with self._saving:
            metadata = self._instance.get("metadata") or {}
            self._instance["metadata"] = {**metadata, f"{KEY_PREFIX}{key}": json.dumps(value)}

    def remove(self, key: str) -> None:
        """Remove a key that a request has put into the metadata, after the operation."""
        metadata = self._instance.get("metadata") or {}
        self._instance["metadata"] = {k: v for k, v in metadata.items() if k != key}

    def clear(self) -> None:
        self.memory.clear()
        metadata = self._instance.get("metadata") or {}
        others = {k: v for k, v in metadata.items() if not k.startswith(KEY_PREFIX)}
        self._instance["metadata"] = others


class Call:
    """The call of one hook: Tacker's input, and the answer."""

    def __init__(self, given: Mapping[str, Any], services: MakeServices) -> None:
        self.operation: str = given["operation"]
        self.request: dict[str, Any] = given["request"]
        self.grant_request: dict[str, Any] = given["grant_request"] or {}
        self.grant: dict[str, Any] = given.get("grant_response") or {}
        self.instance: dict[str, Any] = given["vnf_instance"]
        self.store = CallStore(self.instance, given.get("user_script_err_handling_data") or {})
        self.package = Path(given["tmp_csar_dir"])
        self._services = services

    @property
    def answer(self) -> dict[str, Any]:
        return {
            "vnf_instance": self.instance,
            "user_script_err_handling_data": self.store.memory,
        }

    @property
    def is_automatic(self) -> bool:
        """Whether Tacker has begun the operation because of an alert or a notification.

        The request of an automatic heal has nothing that a client's has not; the grant request has.
        """
        return self.grant_request.get("isAutomaticInvocation") is True

    @property
    def info(self) -> dict[str, Any]:
        """The instance's instantiatedVnfInfo (ETSI SOL003 5.5.2.2); empty if not instantiated."""
        return self.instance.get("instantiatedVnfInfo") or {}

    @property
    def vnfcs(self) -> list[Vnfc]:
        """The VNFCs, whose ids are VDU and index, which stay when a machine is replaced."""
        return [_vnfc(vnfc) for vnfc in self.info.get("vnfcResourceInfo", ())]

    @property
    def services(self) -> Services:
        return self._services(self._vim_access, self.store)

    def of_heal(self, hook: str, vnfc_id: str) -> "Call":
        """The call of a hook of a heal of one VNFC, which works on this call's instance."""
        (resource,) = (r for r in self.info["vnfcResourceInfo"] if _vnfc(r).id == vnfc_id)
        targets = [i for i in self.info["vnfcInfo"] if i["vnfcResourceInfoId"] == resource["id"]]
        # The grant request of a retry may name a server that has been replaced since.
        removed = {
            "id": vnfc_id, "type": "COMPUTE", "resourceTemplateId": resource["vduId"],
            "resource": resource["computeResource"],
        }
        call = copy.copy(self)
        call.operation = hook
        call.request = {"vnfcInstanceId": [target["id"] for target in targets]}
        heal = {"operation": "HEAL", "removeResources": [removed]}
        call.grant_request = {**self.grant_request, **heal}
        return call

    def register_servers(self) -> None:
        """Tell the Server Notifier, if the instantiate request names one, of the hook's servers."""
        asked = self.request.get("additionalParams") or {}
        kept = self.info.get("metadata") or {}
        if any(all(values.get(name) for name in _NOTIFIER) for values in (asked, kept)):
            from mgmt_drivers.tacker import server_notifier  # needs Tacker

            server_notifier.register(self)

    def forget(self) -> None:
        """Remove the stored values and the trace of a VNF instance that has been terminated."""
        self.store.clear()
        trace.remove(self.services.trace_folder, self.instance["id"])

    def lcm_request(self, operation: str, targets: Iterable[str] = ()) -> LcmRequest:
        """:param targets: ids of the targeted VNFCs, unless the operation is about the whole VNF"""
        if self.operation.startswith("instantiate"):
            # Later operations need the parameters of the instantiate request; Tacker drops them.
            self.store.save_secret(PARAMS, self.request.get("additionalParams") or {})
        if self.operation == "instantiate_start":
            LOG.warning(
                "passwords and keys of additionalParams are kept in clear text in the metadata of "
                "VNF instance %s, as they are in the operation occurrence: every user who may read "
                "either can read them",
                self.instance["id"],
            )
        flavour = self.request.get("flavourId") or self.info["flavourId"]
        definition = vnfd.of_flavour(self.package, flavour)
        return LcmRequest(
            operation=operation,
            vnf_instance_id=self.instance["id"],
            package=self.package,
            flavour=flavour,
            cps=vnfd.cps(definition),
            aspects=vnfd.aspects(definition),
            additional_params=self.store.load(PARAMS, {}),
            stack_id=_short(self.info.get("metadata", {}).get("stack_id", "")),
            vnfcs=tuple(self.vnfcs),
            targets=frozenset(targets),
            aspect=self.request.get("aspectId", ""),
        )

    def _vim_access(self) -> VimAccess:
        """The access to the instance's OpenStack VIM (VimConnectionInfo, SOL003 4.4.1.6)."""
        vims = (self.instance.get("vimConnectionInfo") or {}).values()
        vim = next((vim for vim in vims if vim.get("vimType") == _OPENSTACK), None)
        if vim is None:
            raise InventoryError(f"the VNF instance has no VIM of type {_OPENSTACK}")
        access, interface = vim["accessInfo"], vim.get("interfaceInfo") or {}
        auth = {
            "auth_url": interface["endpoint"],
            "username": access["username"],
            "password": access["password"],
            "project_name": access["project"],
            "user_domain_name": access.get("userDomain"),
            "project_domain_name": access.get("projectDomain"),
        }
        verify = not interface.get("skipCertificateVerification", False)
        return VimAccess.from_auth(auth, access.get("region"), verify)


def resource_ids(call: Call) -> dict[str, str]:
    resources = call.info.get("vnfcResourceInfo", ())
    return {resource["id"]: _vnfc(resource).id for resource in resources}


def _vnfc(resource: Mapping[str, Any]) -> Vnfc:
    metadata = resource.get("metadata", {})
    index = metadata.get("vdu_idx")
    return Vnfc(
        id=resource["vduId"] if index is None else f"{resource['vduId']}-{index}",
        vdu_id=resource["vduId"],
        server_id=resource["computeResource"]["resourceId"],
        stack_id=_short(metadata.get("stack_id", "")),
    )


def _short(stack_id: str) -> str:
    """A stack's id without its name; Tacker writes <name>/<id>."""
    return stack_id.rpartition("/")[2]
