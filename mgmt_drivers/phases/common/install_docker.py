"""Install the Docker engine from the system's own packages."""

from typing import Any

from mgmt_drivers.host import docker, packages, platforms
from mgmt_drivers.host.host import Host
from mgmt_drivers.phases.phase import Phase


class InstallDocker(Phase[Any]):
    """An engine that the image brought, from whatever source, is left as it is."""

    title = "install Docker"

    def needed(self, host: Host, params: Any) -> bool:
        return not docker.is_installed(host) or not host.ask("docker", "version").ok

    def apply(self, host: Host, params: Any) -> None:
        if not docker.is_installed(host):
            packages.install(host, platforms.detect(host).docker)
        host.sudo("systemctl", "enable", "--quiet", "--now", "docker")
        docker.await_engine(host)
