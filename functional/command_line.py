"""Tacker's client library, with OpenStack's command line where a new user begins with it."""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from tackerclient.v1_0.client import Client

from functional.guide_outputs import compare_openstack

_ID = re.compile(r"^\| ID +\| (\S+)", re.MULTILINE)


class CommandLine:
    """Packages and instances are made by the guide's commands, which print what the guide says.

    Everything else is done by the library.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def create_vnf_package(self, body: dict[str, Any]) -> dict[str, Any]:
        assert not body, body
        return _with_id(compare_openstack("package_created", ["vnf", "package", "create"]))

    def upload_vnf_package(self, package_id: str, file_data: BinaryIO) -> None:
        words = ["vnf", "package", "upload", "--path", file_data.name, package_id]
        shown = {file_data.name: "kubernetes.zip", package_id: "VNF-PACKAGE-ID"}
        compare_openstack("package_uploaded", words, shown)

    def create_vnf_instance(self, body: dict[str, Any]) -> dict[str, Any]:
        words = ["vnflcm", "create", body["vnfdId"], "--name", body["vnfInstanceName"]]
        return _with_id(compare_openstack("instance_created", words, {body["vnfdId"]: "VNFD-ID"}))

    def instantiate_vnf_instance(self, instance_id: str, body: dict[str, Any]) -> None:
        with TemporaryDirectory() as folder:
            request = Path(folder, "request.json")
            request.write_text(json.dumps(body))
            words = ["vnflcm", "instantiate", instance_id, str(request)]
            shown = {str(request): request.name, instance_id: "VNF-INSTANCE-ID"}
            compare_openstack("instantiation_accepted", words, shown)


def _with_id(output: str) -> dict[str, Any]:
    found = _ID.search(output)
    assert found, f"no id in:\n{output}"
    return {"id": found[1]}
