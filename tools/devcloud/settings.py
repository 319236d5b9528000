"""The settings of a cloud, in the one file that host and controller share.

Written by ``up`` to /etc/devcloud/cloud.json inside the controller, readable
by root only, since it holds the passwords of the cloud's own services.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

CONTAINER_PATH = Path("/etc/devcloud/cloud.json")
MONITORING_PATH = Path("/srv/monitoring")  # of the controller; the host's is in the settings


@dataclass(frozen=True)
class Network:
    """The provider network: the Docker network behind it, and its addresses."""

    docker_name: str
    cidr: str


@dataclass(frozen=True)
class Settings:
    """The embedded cloud as its controller sees it.

    ``release`` is that of OpenStack, ``drop_capabilities`` are those that this host cannot give to
    a container, ``nameservers`` those that a server can reach. ``monitoring`` is the folder on the
    host whose files Prometheus and Alertmanager read, empty if the cloud has neither.
    """

    name: str
    release: str
    address: str
    admin_password: str
    service_password: str
    network: Network
    drop_capabilities: tuple[str, ...] = ()
    nameservers: tuple[str, ...] = ()
    monitoring: str = ""

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2)

    @classmethod
    def from_json(cls, text: str) -> "Settings":
        values = json.loads(text)
        values["network"] = Network(**values["network"])
        for key in ("drop_capabilities", "nameservers"):
            values[key] = tuple(values[key])
        return cls(**values)

    @classmethod
    def load(cls) -> "Settings":
        return cls.from_json(CONTAINER_PATH.read_text())
