"""Run the registry's container, and wait until the registry answers."""

from typing import Any

from mgmt_drivers.clock import NotYet
from mgmt_drivers.engine.phase import Change, Check
from mgmt_drivers.errors import MgmtDriverError, WaitTimeout
from mgmt_drivers.machine import docker, files
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script
from mgmt_drivers.registry import settings
from mgmt_drivers.registry.provide_image import image_tag
from mgmt_drivers.registry.registry_params import PrivateRegistryParams

_LIMIT = 60.0  # seconds

# The registry's API answers /v2/ with 200, or with 401 if a login is required
# (OCI distribution specification, "Determining Support").
_ASK = Script(__package__, "ask-registry")


class RunRegistry(Change[PrivateRegistryParams, bool]):
    """Run the registry's container; a container with other settings is replaced, its data kept."""

    title = "run the registry"

    def look(self, host: Host, params: PrivateRegistryParams) -> bool | None:
        """Whether there is a container to be replaced; None if the container is as expected."""
        container = docker.inspect_container(host, settings.CONTAINER)
        if container and _is_as_expected(container, params):
            return None
        return container is not None

    def act(self, host: Host, params: PrivateRegistryParams, is_replaced: bool) -> None:
        if is_replaced:
            host.sudo("docker", "rm", "--force", settings.CONTAINER)
        _refuse_occupied(host, params.port)
        files.write_all(host, settings.config_files(params))
        label = f"{settings.SETTINGS_LABEL}={settings.digest(params)}"
        host.sudo(
            "docker", "run", *settings.run_arguments(params), "--label", label,
            image_tag(params.image),
        )


def _is_as_expected(container: dict[str, Any], params: PrivateRegistryParams) -> bool:
    labels = container["Config"]["Labels"] or {}
    running: bool = container["State"]["Running"]
    return running and labels.get(settings.SETTINGS_LABEL) == settings.digest(params)


def _refuse_occupied(host: Host, port: int) -> None:
    listening = host.sudo("ss", "-H", "-l", "-t", "-n", "-p", f"sport = :{port}").strip()
    if listening:
        raise MgmtDriverError(
            f"port {port} is occupied on the machine: {' '.join(listening.split())}. "
            "Free the port, or choose another port_no"
        )


class WaitForRegistry(Check[PrivateRegistryParams]):
    """Wait until the registry answers on its port."""

    title = "wait for the registry"

    def check(self, host: Host, params: PrivateRegistryParams) -> None:
        def answers() -> None:
            is_good, line = _ask(host, params)
            if not is_good:
                raise NotYet(line)

        try:
            host.clock.until(answers, _LIMIT, f"the registry on port {params.port}")
        except WaitTimeout as error:
            logs = host.ask("docker", "logs", "--tail", "20", settings.CONTAINER)
            raise WaitTimeout(f"{error}; its log ends: {logs.tail}") from None


def _ask(host: Host, params: PrivateRegistryParams) -> tuple[bool, str]:
    """Ask the registry; returns whether the status is as expected, and the line of the answer."""
    scheme = "tls" if params.tls else "plain"
    result = host.ask(*_ASK.command(str(params.port), scheme))
    line = result.stdout.strip()
    expected = "401" if params.htpasswd else "200"
    return expected in line.split()[1:2], line or result.tail or "no answer"
