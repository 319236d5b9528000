"""Run the registry: its image, its container, until it answers."""

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

# The registry's API answers /v2/ with 200, or with 401 where it wants a login
# (OCI distribution specification, "Determining Support"). bash and openssl are
# on every machine; curl is not.
_ASK = Script(__package__, "ask-registry")


class RunRegistry(Change[PrivateRegistryParams, bool]):
    """Run the registry's container; one with other settings is replaced, its data stays."""

    title = "run the registry"

    def look(self, host: Host, params: PrivateRegistryParams) -> bool | None:
        """Whether there is a container to be replaced."""
        found = docker.inspect_container(host, settings.CONTAINER)
        if found and _is_as_wanted(found, params):
            return None
        return found is not None

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


class WaitForRegistry(Check[PrivateRegistryParams]):
    """Wait until the registry answers on its port."""

    title = "wait for the registry"

    def check(self, host: Host, params: PrivateRegistryParams) -> None:
        def answers() -> None:
            good, seen = _answers(host, params)
            if not good:
                raise NotYet(seen)

        try:
            host.clock.until(answers, _LIMIT, f"the registry on port {params.port}")
        except WaitTimeout as error:
            logs = host.ask("docker", "logs", "--tail", "20", settings.CONTAINER)
            raise WaitTimeout(f"{error}; its log ends: {logs.tail}") from None


def _answers(host: Host, params: PrivateRegistryParams) -> tuple[bool, str]:
    """Whether the registry answers as it should, and the line with which it does."""
    scheme = "tls" if params.tls else "plain"
    seen = host.ask(*_ASK.command(str(params.port), scheme))
    line = seen.stdout.strip()
    wanted = "401" if params.htpasswd else "200"
    return wanted in line.split()[1:2], line or seen.tail or "no answer"
