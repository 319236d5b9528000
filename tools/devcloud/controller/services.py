"""The control plane's services: their commands and systemd units."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tools.devcloud.controller.config_files import OVSDB
from tools.devcloud.settings import MONITORING_PATH

BIN = "/opt/openstack/bin"
_UNITS = Path("/etc/systemd/system")
_PYTHONPATH = "PYTHONPATH=/opt/devcloud"
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE=1"


@dataclass(frozen=True)
class Service:
    """One long-running process; ``environment`` as KEY=VALUE words.

    ``before`` is a command that runs each time before the process starts.
    """

    name: str
    command: str
    environment: tuple[str, ...] = ()
    before: str = ""

    def unit(self) -> str:
        lines = ["[Unit]", f"Description=devcloud {self.name}", "After=network.target"]
        lines += ["StartLimitIntervalSec=0", "", "[Service]"]
        lines += [f"Environment={word}" for word in (_PATH, *self.environment)]
        lines += [f"ExecStartPre={self.before}"] if self.before else []
        lines += [f"ExecStart={self.command}", "Restart=on-failure", "RestartSec=1"]
        # The conductor takes a minute and a half to stop; nothing here needs that.
        lines += ["LimitNOFILE=65536", "TimeoutStopSec=5", ""]
        return "\n".join(lines)


_PATH = f"PATH={BIN}:/usr/sbin:/usr/bin:/sbin:/bin"


def _wsgi(
    name: str, port: int, application: str, *environment: str, before: str = ""
) -> Service:
    """An API under waitress.

    Not uWSGI: it resets kept-alive connections in the middle of Tacker's operations. The limits
    are because clients keep connections that they do not use: with waitress's own, those keep
    new ones out.
    """
    command = f"{BIN}/waitress-serve --threads=8 --connection-limit=4000 --channel-timeout=20"
    target = f"tools.devcloud.controller.wsgi:{application}"
    return Service(
        name, f"{command} --listen=0.0.0.0:{port} {target}", (_PYTHONPATH, *environment), before
    )


KEYSTONE = _wsgi("keystone", 5000, "keystone")
APIS = (
    _wsgi("barbican", 9311, "barbican"),
    _wsgi("placement", 8778, "placement"),
    _wsgi("glance-api", 9292, "glance"),
    _wsgi(
        "neutron-api",
        9696,
        "neutron",
        "OS_NEUTRON_CONFIG_FILES=neutron.conf;plugins/ml2/ml2_conf.ini",
        # How many processes share what OVN reports. One that was killed would keep its share for
        # a minute, and the servers whose ports came up meanwhile would never hear of it.
        "ASGI_WORKERS=1",
        before='/usr/bin/mariadb neutron --execute "DELETE FROM ovn_hash_ring"',
    ),
    _wsgi("nova-api", 8774, "nova"),
    _wsgi("cinder-api", 8776, "cinder"),
    _wsgi("heat-api", 8004, "heat"),
    Service("tacker-server", f"{BIN}/tacker-server --config-file /etc/tacker/tacker.conf"),
)
TACKER_CONDUCTOR = Service(
    "tacker-conductor", f"{BIN}/tacker-conductor --config-file /etc/tacker/tacker.conf"
)
WORKERS = (
    Service("heat-engine", f"{BIN}/heat-engine --config-file /etc/heat/heat.conf"),
    Service(
        "neutron-maintenance",
        f"{BIN}/neutron-ovn-maintenance-worker --config-file /etc/neutron/neutron.conf"
        " --config-file /etc/neutron/plugins/ml2/ml2_conf.ini",
    ),
    Service("cinder-scheduler", f"{BIN}/cinder-scheduler"),
    Service("cinder-volume", f"{BIN}/cinder-volume", (_PYTHONPATH, _NO_BYTECODE)),
    TACKER_CONDUCTOR,
)
NOVA = Service(
    "nova",
    f"{BIN}/python -m tools.devcloud.controller.nova_services",
    # The compute and the conductor of 2026.1 run on eventlet unless told otherwise.
    (_PYTHONPATH, _NO_BYTECODE, "OS_NOVA_DISABLE_EVENTLET_PATCHING=true"),
)
_DATABASES = (
    "/etc/openvswitch/conf.db",
    "/var/lib/ovn/ovnnb_db.db",
    "/var/lib/ovn/ovnsb_db.db",
)
OVSDB_SERVER = Service(
    "ovsdb",
    f"/usr/sbin/ovsdb-server {' '.join(_DATABASES)} --remote=p{OVSDB}"
    " --pidfile=/run/openvswitch/ovsdb-server.pid --unixctl=/run/openvswitch/ovsdb-server.ctl",
)
OVS_VSWITCHD = Service(
    "vswitchd", f"/usr/sbin/ovs-vswitchd {OVSDB} --pidfile=/run/openvswitch/ovs-vswitchd.pid"
)
OVN = (
    Service("northd", f"/usr/bin/ovn-northd --ovnnb-db={OVSDB} --ovnsb-db={OVSDB}"),
    Service("ovn-agent", f"/usr/bin/ovn-controller {OVSDB}"),
)
ROUTER_SEGMENTS = Service(
    "router-segments",
    f"/bin/sh /opt/devcloud/tools/devcloud/controller/router-segments.sh {OVSDB}",
)
LIBVIRT = Service("libvirt", "/usr/sbin/libvirtd")
ALL = (
    *(KEYSTONE, *APIS, *WORKERS, NOVA),
    *(OVSDB_SERVER, OVS_VSWITCHD, *OVN, ROUTER_SEGMENTS, LIBVIRT),
)
PROMETHEUS_PORT = 9090


def _monitor(name: str, port: int, configuration: str, *options: str) -> Service:
    """Prometheus or Alertmanager, whose program has the name of Debian's unit, which this is not.

    (Debian's has a confinement that needs more capabilities than some hosts give.)
    """
    file = MONITORING_PATH / configuration
    script = "/bin/sh /opt/devcloud/tools/devcloud/controller/monitor.sh"
    program = f"/usr/bin/{name} --config.file={file} {' '.join(options)}"
    return Service(name, f"{script} {file} http://localhost:{port}/-/reload {program}")


MONITORS = (
    _monitor(
        "prometheus",
        PROMETHEUS_PORT,
        "prometheus.yml",
        "--storage.tsdb.path=/var/lib/prometheus/metrics",
        "--web.enable-lifecycle",
    ),
    _monitor(
        "prometheus-alertmanager",
        9093,
        "alertmanager.yml",
        "--storage.path=/var/lib/prometheus/alerts",
        "--cluster.listen-address=",  # it is the only one
    ),
)
FROM_DEBIAN = ("mariadb", "memcached", "rabbitmq-server")


def names(monitoring: bool) -> list[str]:
    """The units of a cloud, with or without monitoring."""
    services = (*ALL, *(MONITORS if monitoring else ()))
    return [*(service.name for service in services), *FROM_DEBIAN]


def systemctl(*arguments: str) -> None:
    subprocess.run(["systemctl", *arguments], check=True)


def start(*services: Service) -> None:
    """Start services, all at once; those that run already stay as they are."""
    systemctl("start", *(service.name for service in services))


def install_units() -> None:
    """Write the unit of every service, and reload systemd."""
    for service in (*ALL, *MONITORS):
        (_UNITS / f"{service.name}.service").write_text(service.unit())
    systemctl("daemon-reload")
