"""The cloud of a dry run: VNF instances, packages and VIMs in Tacker, and stacks in Heat."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from openstack.connection import Connection
from tackerclient.v1_0.client import Client

from mgmt_drivers.engine.services import KEY_PREFIX, Services, Store
from mgmt_drivers.inventory import Heat, VimAccess
from mgmt_drivers.vim import STORE_KEY, description_of
from tools.client import stacks
from tools.client.errors import ClientError
from tools.csar import build, contents
from tools.csar.errors import CsarError
from tools.dry_run.instances import Instance, InstanceV1, InstanceV2

_SERVER = "OS::Nova::Server"
_PACKAGES = "/vnfpkgm/v1/vnf_packages"
_SERVICE = "nfv-orchestration"


class Cloud:
    """The cloud behind a connection.

    :param client: client of Tacker's API
    :param version: version of Tacker's LCM API
    """

    def __init__(self, connection: Connection, client: Client, version: str) -> None:
        self._connection, self._client, self._version = connection, client, version

    def instance(self, shown: dict[str, Any], package: Path, body: dict[str, Any]) -> Instance:
        """An instance that Tacker has shown, with its data in Heat."""
        if self._version == "2":
            return InstanceV2(shown, package, body)
        connection, vnf_id = self._connection, shown["id"]
        own = connection.orchestration.find_stack(f"vnflcm_{vnf_id}", resolve_outputs=False)
        if own is None:
            raise ClientError(f"Heat has no stack vnflcm_{vnf_id}")
        places = {
            resource.id: resource.stack.rpartition("/")[2]
            for resource in stacks.resources(connection, vnf_id)
            if resource.type == _SERVER and resource.id
        }
        return InstanceV1(
            shown, package, own.id, places, lambda group: stacks.members(connection, own.id, group)
        )

    @contextmanager
    def package(self, vnfd_id: str) -> Iterator[Path]:
        """Download the files of the VNF package that has a VNFD."""
        listed = self._client.list_vnf_packages()
        packages = listed if isinstance(listed, list) else listed["vnf_packages"]
        package_id = next((p["id"] for p in packages if p.get("vnfdId") == vnfd_id), None)
        if package_id is None:
            raise ClientError(f"Tacker has no VNF package with the VNFD {vnfd_id}")
        region = self._connection.config.get_region_name() or None
        answer = self._connection.session.get(
            f"{_PACKAGES}/{package_id}/package_content",
            endpoint_filter={"service_type": _SERVICE, "region_name": region},
            headers={"Accept": "application/zip"},
        )
        with TemporaryDirectory() as folder:
            csar = Path(folder) / "package.zip"
            csar.write_bytes(answer.content)
            with unpacked(csar) as files:
                yield files

    def services(self, store: Store) -> Services:
        return Services(Heat(self._access), store)

    def is_taken(self, name: str, shown: Mapping[str, Any] | None = None) -> bool:
        """Whether another VIM than the VNF's has the name; the v2 API registers no VIMs.

        :param shown: the VNF instance, if it exists
        """
        if self._version == "2":
            return False
        shown = shown or {}
        own = (shown.get("metadata") or {}).get(f"{KEY_PREFIX}{STORE_KEY}")
        described = (description_of(shown.get("id", "")), self._connection.current_project_id)
        return any(
            json.dumps(vim["id"]) != own
            and (vim.get("description"), vim.get("tenant_id")) != described
            for vim in self._client.list_vims()["vims"]
            if vim["name"] == name
        )

    def _access(self) -> VimAccess:
        """The login of this program, which can read the stacks of its project."""
        config = self._connection.config
        auth: Mapping[str, str] = config.get_auth_args()
        if not auth.get("password"):
            raise ClientError("no password for Heat: set OS_PASSWORD, or the password of OS_CLOUD")
        verify = bool(config.get_requests_verify_args()[0])
        return VimAccess.from_auth(auth, config.get_region_name() or None, verify)


@contextmanager
def unpacked(package: Path) -> Iterator[Path]:
    """A folder with the files that Tacker would have of a CSAR, or of a package's sources.

    :raises ClientError: if the package is neither
    """
    with TemporaryDirectory() as folder:
        try:
            if package.is_dir():
                _lay_out(build.assemble(package), Path(folder))
            else:
                contents.extract(package, Path(folder))
        except CsarError as error:
            raise ClientError(f"{package} is not a VNF package: {error}") from error
        yield Path(folder)


def _lay_out(files: contents.Contents, folder: Path) -> None:
    for name, source in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(source, Path):
            shutil.copyfile(source, path)
        else:
            path.write_bytes(contents.read(source))
