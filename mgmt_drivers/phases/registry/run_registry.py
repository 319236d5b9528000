"""Run the registry's container, with its data on the machine's disk."""

from typing import Any

from mgmt_drivers.engine.phase import Change
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host import docker, files
from mgmt_drivers.host.host import Host
from mgmt_drivers.params.private_registry import PrivateRegistryParams
from mgmt_drivers.phases.registry import settings
from mgmt_drivers.phases.registry.provide_image import image_tag
from mgmt_drivers.phases.registry.vnf import OnRegistries, RegistryVnf


class RunRegistry(OnRegistries, Change[RegistryVnf, bool]):
    """A container that runs with other settings is replaced; its data stays."""

    title = "run the registry"

    def look(self, host: Host, vnf: RegistryVnf) -> bool | None:
        """Whether there is a container to be replaced."""
        found = docker.container(host, settings.CONTAINER)
        if found and _is_as_wanted(found, vnf.params):
            return None
        return found is not None

    def act(self, host: Host, vnf: RegistryVnf, is_replaced: bool) -> None:
        params = vnf.params
        if is_replaced:
            host.sudo("docker", "rm", "--force", settings.CONTAINER)
        _refuse_occupied(host, params.port)
        for file in settings.config_files(params):
            files.write(host, file.path, file.content, file.mode)
        label = f"{settings.SETTINGS_LABEL}={settings.digest(params)}"
        host.sudo(
            "docker", "run", *settings.run_arguments(params), "--label", label,
            image_tag(params.image),
        )


def _is_as_wanted(found: dict[str, Any], params: PrivateRegistryParams) -> bool:
    labels = found["Config"]["Labels"] or {}
    running: bool = found["State"]["Running"]
    return running and labels.get(settings.SETTINGS_LABEL) == settings.digest(params)


def _refuse_occupied(host: Host, port: int) -> None:
    listening = host.sudo("ss", "-H", "-l", "-t", "-n", "-p", f"sport = :{port}").strip()
    if listening:
        raise MgmtDriverError(
            f"port {port} is occupied on the machine: {' '.join(listening.split())}. "
            "Free it, or choose another port_no"
        )
