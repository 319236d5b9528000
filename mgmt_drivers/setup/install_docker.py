"""Install the Docker engine from the system's own packages."""

from collections.abc import Sequence

from mgmt_drivers.engine.phase import DEPENDS, Change, Prediction
from mgmt_drivers.machine import docker, packages, platforms
from mgmt_drivers.machine.host import Host


class InstallDocker(Change[object, Sequence[str]]):
    """Install Docker from the system's packages, unless the image has an engine."""

    title = "install Docker"
    on_new_machine = Prediction(DEPENDS, "on whether the image of the new machine brings Docker")

    def look(self, host: Host, context: object) -> Sequence[str] | None:
        """The packages to install; empty if the installed engine does not run."""
        if not docker.is_installed(host):
            return platforms.detect(host).docker
        return None if docker.is_running(host) else ()

    def act(self, host: Host, context: object, names: Sequence[str]) -> None:
        if names:
            docker.choose_network(host)
            packages.install(host, names)
        else:
            packages.repair(host)  # the installation may have been interrupted
        host.sudo("systemctl", "enable", "--quiet", "--now", "docker")
        docker.wait_for_engine(host)
