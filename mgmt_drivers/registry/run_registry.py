"""Run the registry's containers, and wait until the registry answers."""

import logging
from collections.abc import Sequence
from typing import Any

from mgmt_drivers.clock import NotYet
from mgmt_drivers.engine.phase import Change, Check
from mgmt_drivers.errors import RegistryError, WaitTimeout
from mgmt_drivers.machine import docker, files
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script
from mgmt_drivers.registry.provide_image import image_tag
from mgmt_drivers.registry.registry_params import PrivateRegistryParams
from mgmt_drivers.registry.settings import SETTINGS_LABEL, Container, containers

LOG = logging.getLogger(__name__)

_LIMIT = 60.0  # seconds

# The registry's API answers /v2/ with 200, or with 401 if a login is required
# (OCI distribution specification, "Determining Support").
_ASK = Script(__package__, "ask-registry")

_Lacking = Sequence[tuple[Container, bool]]  # and whether each replaces a container of its name


class RunRegistry(Change[PrivateRegistryParams, _Lacking]):
    """Run the registry's container; a container with other settings is replaced, its data kept."""

    title = "run the registry"

    def look(self, host: Host, params: PrivateRegistryParams) -> _Lacking | None:
        found = [(c, docker.inspect_container(host, c.name)) for c in containers(params)]
        return [
            (wanted, container is not None)
            for wanted, container in found
            if not (container and _is_as_expected(container, wanted))
        ] or None

    def describe(self, lacking: _Lacking) -> str:
        return ", ".join(container.name for container, _ in lacking)

    def act(self, host: Host, params: PrivateRegistryParams, lacking: _Lacking) -> None:
        if not (params.htpasswd or params.push_port or params.bundles):
            LOG.warning(
                "%s: everybody who reaches the registry may replace its images. Give push_port_no "
                "or htpasswd_path, or let the security group admit only machines that you trust",
                host.node,
            )
        for container, is_replaced in lacking:
            _run(host, container, is_replaced)


def _run(host: Host, container: Container, is_replaced: bool) -> None:
    if is_replaced:
        host.sudo("docker", "rm", "--force", container.name)
    port = container.port
    listening = host.sudo("ss", "-H", "-l", "-t", "-n", "-p", f"sport = :{port}").strip()
    if listening:
        raise RegistryError(
            f"port {port} is occupied on the machine: {' '.join(listening.split())}. "
            "Free the port, or choose another port_no"
        )
    files.write_all(host, container.config_files())
    label = f"{SETTINGS_LABEL}={container.digest()}"
    host.sudo(
        "docker", "run", *container.run_arguments(), "--label", label,
        image_tag(container.params.image),
    )


def _is_as_expected(state: dict[str, Any], container: Container) -> bool:
    labels = state["Config"]["Labels"] or {}
    return state["State"]["Running"] and labels.get(SETTINGS_LABEL) == container.digest()


class WaitForRegistry(Check[PrivateRegistryParams]):
    """Wait until the registry answers on its port."""

    title = "wait for the registry"

    def check(self, host: Host, params: PrivateRegistryParams) -> None:
        status = "401" if params.htpasswd else "200"
        for container in containers(params):
            scheme = "tls" if container.tls else "plain"
            logs = ("docker", "logs", "--tail", "20", container.name)
            wait_for_port(host, container.port, scheme, status, logs)


def wait_for_port(host: Host, port: int, scheme: str, status: str, logs: Sequence[str]) -> None:
    """Wait until a server answers the question for a registry with a status.

    :param logs: the command that shows what the server has to say otherwise
    """

    def answers() -> None:
        result = host.ask(*_ASK.command(str(port), scheme))
        line = result.stdout.strip()
        if status not in line.split()[1:2]:
            raise NotYet(line or result.tail or "no answer")

    try:
        host.clock.until(answers, _LIMIT, f"the registry on port {port}")
    except WaitTimeout as error:
        raise WaitTimeout(f"{error}; its log ends: {host.ask(*logs).tail}") from None
