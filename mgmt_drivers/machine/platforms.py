"""The operating systems that the drivers support: a table of facts."""

import shlex
from dataclasses import dataclass

from mgmt_drivers.errors import MachineUnfit
from mgmt_drivers.machine import facts
from mgmt_drivers.machine.host import Host


@dataclass(frozen=True)
class Platform:
    """A supported system; ``docker`` are its packages of the Docker engine."""

    name: str
    docker: tuple[str, ...] = ("docker.io",)

    @property
    def slug(self) -> str:
        """The name in a URL, such as ``debian-13``."""
        return self.name.lower().replace(" ", "-")


# (ID, VERSION_ID) of /etc/os-release
SUPPORTED = {
    ("debian", "11"): Platform("Debian 11"),
    # docker.io only recommends AppArmor's parser, without which its engine starts no container on
    # a kernel with AppArmor.
    ("debian", "12"): Platform("Debian 12", docker=("docker.io", "apparmor")),
    ("debian", "13"): Platform("Debian 13", docker=("docker.io", "docker-cli")),
    ("ubuntu", "20.04"): Platform("Ubuntu 20.04"),
    ("ubuntu", "22.04"): Platform("Ubuntu 22.04"),
    ("ubuntu", "24.04"): Platform("Ubuntu 24.04"),
}


def detect(host: Host) -> Platform:
    """Detect the machine's system; raises MgmtDriverError if it is not supported."""
    lines = facts.gather(host).os_release.splitlines()
    pairs = (line.partition("=") for line in lines if "=" in line)
    release = {key: "".join(shlex.split(value)) for key, _, value in pairs}
    key = (release.get("ID", ""), release.get("VERSION_ID", ""))
    if key not in SUPPORTED:
        names = ", ".join(platform.name for platform in SUPPORTED.values())
        raise MachineUnfit(
            f"the image runs {' '.join(key).strip() or 'an unknown system'}; supported: {names}"
        )
    return SUPPORTED[key]
