"""VNF instances from the answers of Tacker's APIs, as input for the operations."""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from mgmt_drivers import kubernetes_v2
from mgmt_drivers.engine.services import KEY_PREFIX, Store
from mgmt_drivers.errors import ParameterError
from mgmt_drivers.request import LcmRequest, Vnfc
from mgmt_drivers.tacker import vnfd
from mgmt_drivers.tacker.v2 import Call, resource_ids
from tools.dry_run.operations import ForgetfulStore

NEW = "new"  # id of an instance that does not exist yet

Shown = Mapping[str, Any]  # an instance, or a request


def new_request(package: Path, body: Shown, version: str) -> LcmRequest:
    """The request to instantiate a VNF, which has no instance yet.

    :param body: the request to Tacker, which :mod:`tools.dry_run.envelope` has checked
    """
    flavour = body["flavourId"]
    definition = vnfd.of_flavour(package, flavour)
    if version == "2":
        kubernetes_v2.check_user_data(_call(package, {"id": NEW}, body))
    return LcmRequest(
        operation="instantiate",
        vnf_instance_id=NEW,
        package=package,
        flavour=flavour,
        cps=vnfd.cps(definition),
        aspects=vnfd.aspects(definition),
        additional_params=body.get("additionalParams") or {},
    )


class InstanceV1:
    """An instance of the v1 API, which does not show the stacks of VNFCs.

    :param stacks: the ids of the stacks by the ids of their servers
    :param members: returns the ids of the stacks in a scaling group, the oldest first
    """

    def __init__(
        self,
        shown: Shown,
        package: Path,
        stack_id: str,
        stacks: Mapping[str, str],
        members: Callable[[str], Sequence[str]],
    ) -> None:
        self.store: Store = ForgetfulStore(Metadata(shown.get("metadata") or {}))
        self._shown, self._package, self._stack_id = shown, package, stack_id
        self._stacks, self._members = stacks, members

    def request(self) -> LcmRequest:
        """The request of any operation, without targets."""
        info = self._shown["instantiatedVnfInfo"]
        definition = vnfd.of_flavour(self._package, info["flavourId"])
        return LcmRequest(
            operation="",
            vnf_instance_id=self._shown["id"],
            package=self._package,
            flavour=info["flavourId"],
            cps=vnfd.cps(definition),
            aspects=vnfd.aspects(definition),
            additional_params=_with_nulls(info.get("additionalParams") or {}),
            stack_id=self._stack_id,
            vnfcs=tuple(map(self._vnfc, info.get("vnfcResourceInfo", ()))),
        )

    def _vnfc(self, resource: Shown) -> Vnfc:
        server = resource["computeResource"]["resourceId"]
        return Vnfc(resource["id"], resource["vduId"], server, self._stacks.get(server, ""))

    def targets(self, vnfcs: Collection[str]) -> list[str]:
        """The drivers' ids of the VNFCs in a heal request."""
        return [*vnfcs]

    def leaving(self, aspect: str, numbers: Mapping[str, int]) -> list[str]:
        """The VNFCs of the group's oldest members (Tacker's ``get_scale_in_ids``).

        With ``is_reverse`` Tacker would choose the newest, but never finds it in the request.

        :param numbers: number of machines to remove, by VDU
        """
        oldest = self._members(aspect)[: max(numbers.values(), default=0)]
        return [vnfc.id for vnfc in self.request().vnfcs if vnfc.stack_id in oldest]

    def of_new_package(self) -> Any:
        raise ParameterError(["the v1 API does not change packages: its instances need `modify`"])


class InstanceV2:
    """An instance of the v2 API."""

    def __init__(self, shown: Shown, package: Path, body: Shown) -> None:
        self._call = _call(package, shown, body)
        self.store: Store = self._call.store

    def request(self) -> LcmRequest:
        if "vnfdId" not in self._call.request:  # a change of the package is the upgrade itself
            kubernetes_v2.note_upgrade(self._call)
        return self._call.lcm_request("")

    def targets(self, vnfcs: Collection[str]) -> list[str]:
        places = resource_ids(self._call)
        infos = {i["id"]: i["vnfcResourceInfoId"] for i in self._call.info.get("vnfcInfo", ())}
        return [places.get(infos.get(vnfc, ""), vnfc) for vnfc in vnfcs]

    def leaving(self, aspect: str, numbers: Mapping[str, int]) -> list[str]:
        """The newest VNFCs, which are first in Tacker's list (``_make_scale_in_grant_request``)."""
        vnfcs = self._call.vnfcs
        return [
            vnfc.id
            for vdu, number in numbers.items()
            for vnfc in [vnfc for vnfc in vnfcs if vnfc.vdu_id == vdu][:number]
        ]

    def of_new_package(self) -> Any:
        """The modification of the cluster by a change of the VNF package, if any."""
        if (self._call.request.get("additionalParams") or {}).get("vdu_params"):
            text = "no dry run shows a replacement of machines: plan a heal of the VNFCs"
            raise ParameterError([f"vdu_params: {text}"])
        return kubernetes_v2.of_new_package(self._call)


Instance = InstanceV1 | InstanceV2


class Metadata:
    """The drivers' values in the metadata of an instance, whose keys the v1 API changes."""

    def __init__(self, metadata: Mapping[str, str]) -> None:
        self._metadata = metadata

    def load(self, key: str, default: Any) -> Any:
        name = re.sub("_([a-z])", lambda match: match[1].upper(), f"{KEY_PREFIX}{key}")
        text = self._metadata.get(name) or self._metadata.get(f"{KEY_PREFIX}{key}")
        return json.loads(text) if text else default

    def save(self, key: str, value: Any) -> None:
        raise AssertionError("a dry run saves nothing")

    save_secret = save


def _with_nulls(shown: Any) -> Any:
    """The parameters of the request: the v1 API shows an empty text for null."""
    if isinstance(shown, Mapping):
        return {key: _with_nulls(value) for key, value in shown.items()}
    if isinstance(shown, list):
        return [_with_nulls(value) for value in shown]
    return None if shown == "" else shown


def _call(package: Path, shown: Shown, body: Shown) -> Call:
    given = {
        "operation": "",
        "request": body,
        "grant_request": None,
        "vnf_instance": dict(shown),
        "tmp_csar_dir": str(package),
    }

    def no_services(*_: object) -> Any:
        raise AssertionError("a dry run has services of its own")

    return Call(given, no_services)
