"""The control plane's services: their commands and systemd units."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

BIN = "/opt/openstack/bin"
_UNITS = Path("/etc/systemd/system")


@dataclass(frozen=True)
class Service:
    """One long-running process; ``environment`` as KEY=VALUE words."""

    name: str
    command: str
    environment: tuple[str, ...] = ()

    def unit(self) -> str:
        lines = ["[Unit]", f"Description=devcloud {self.name}", "After=network.target"]
        lines += ["StartLimitIntervalSec=0", "", "[Service]"]
        lines += [f"Environment={word}" for word in self.environment]
        lines += [f"ExecStart={self.command}", "Restart=on-failure", "RestartSec=1"]
        # The conductor takes a minute and a half to stop; nothing here needs that.
        lines += ["LimitNOFILE=65536", "TimeoutStopSec=5", ""]
        lines += ["[Install]", "WantedBy=multi-user.target", ""]
        return "\n".join(lines)


# waitress rather than uWSGI: the latter resets kept-alive connections in the
# middle of Tacker's operations.
_WSGI = f"{BIN}/waitress-serve --threads=8 --listen=0.0.0.0"
_PACKAGE = "tools.devcloud.controller"

KEYSTONE = Service(
    "keystone", f"{_WSGI}:5000 {_PACKAGE}.wsgi:keystone", ("PYTHONPATH=/opt/devcloud",)
)
BARBICAN = Service(
    "barbican", f"{_WSGI}:9311 {_PACKAGE}.wsgi:barbican", ("PYTHONPATH=/opt/devcloud",)
)
GLANCE = Service(
    "glance-api", f"{_WSGI}:9292 {_PACKAGE}.wsgi:glance", ("PYTHONPATH=/opt/devcloud",)
)
HEAT_API = Service(
    "heat-api", f"{_WSGI}:8004 {_PACKAGE}.wsgi:heat", ("PYTHONPATH=/opt/devcloud",)
)
HEAT_ENGINE = Service(
    "heat-engine",
    f"{BIN}/heat-engine --config-file /etc/heat/heat.conf",
    ("PYTHONPATH=/opt/devcloud", "PYTHONDONTWRITEBYTECODE=1"),
)
TACKER_SERVER = Service(
    "tacker-server", f"{BIN}/tacker-server --config-file /etc/tacker/tacker.conf"
)
TACKER_CONDUCTOR = Service(
    "tacker-conductor", f"{BIN}/tacker-conductor --config-file /etc/tacker/tacker.conf"
)
ALL = (KEYSTONE, BARBICAN, GLANCE, HEAT_API, HEAT_ENGINE, TACKER_SERVER, TACKER_CONDUCTOR)
FROM_DEBIAN = ("mariadb", "rabbitmq-server")


def systemctl(*arguments: str) -> None:
    subprocess.run(["systemctl", *arguments], check=True)


def install_units() -> None:
    """Write the unit of every service in ALL, and reload systemd."""
    for service in ALL:
        (_UNITS / f"{service.name}.service").write_text(service.unit())
    systemctl("daemon-reload")
