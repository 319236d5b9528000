"""The exporter of a machine, and the service of the drivers that measures the machine's health.

The exporter is the distribution's package. The service runs the payload :mod:`node_health`, which
writes a file that the exporter reads.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.etcd import upkeep
from mgmt_drivers.cluster.monitoring import node_health
from mgmt_drivers.machine.files import STATE_FOLDER, File
from mgmt_drivers.machine.host import Host

PACKAGE = "prometheus-node-exporter"
UNITS = EXPORTER, SERVICE = f"{PACKAGE}.service", "tacker-node-health.service"
_PROGRAM = f"{STATE_FOLDER}/node-health.py"
_TEXT = Path(node_health.__file__).read_text()
_UNITS = "/etc/systemd/system"


def port(cluster: Cluster) -> int:
    monitoring = cluster.params.monitoring
    assert monitoring, "phases of monitoring run on no machine without the parameter"
    return monitoring.port


def units_of(host: Host, cluster: Cluster) -> Mapping[str, Sequence[File]]:
    """The files of a machine, by the systemd unit that reads them."""
    return {
        SERVICE: [
            File(_PROGRAM, _TEXT, "0755"),
            File(f"{_UNITS}/{SERVICE}", _service_unit(_arguments(host, cluster))),
        ],
        EXPORTER: [File(f"{_UNITS}/{EXPORTER}.d/tacker.conf", _exporter_settings(cluster))],
    }


def asking_exporter(cluster: Cluster) -> Sequence[str]:
    """The command that succeeds if the exporter tells the health of the machine."""
    return ("python3", _PROGRAM, "--check", str(port(cluster)))


def _arguments(host: Host, cluster: Cluster) -> Sequence[str]:
    if host.node not in cluster.topology.nodes:  # the storage server
        return ["/"]
    # A path that lies on the same disk as another one has the same value.
    paths = ["/var/lib/kubelet", f"/var/lib/{cluster.runtime.service}"]
    words = ["--api", cluster.endpoint, "--node", cluster.name(host)]
    if not cluster.is_control_plane(host):
        return [*words, *paths]
    return [*words, "--etcd", *paths, upkeep.DATA]


def _service_unit(arguments: Sequence[str]) -> str:
    # The program alone gets the signal to end, not the systemctl that it asks at that moment.
    return f"""\
[Unit]
Description=Health of this machine for Prometheus
StartLimitIntervalSec=0

[Service]
ExecStart=/usr/bin/python3 -I {_PROGRAM} {" ".join(arguments)}
Restart=always
RestartSec=5
KillMode=mixed
TimeoutStopSec=30

[Install]
WantedBy=multi-user.target
"""


def _exporter_settings(cluster: Cluster) -> str:
    # A machine counts as dead if the exporter does not answer. The exporter's own look at file
    # systems waits for NFS servers; and the hang-up that the package's unit calls a reload ends it.
    # The exporter ends after the service, which at last tells of a shutdown, and before the
    # network does.
    return f"""\
[Unit]
Before={SERVICE}
After=network.target
StartLimitIntervalSec=0

[Service]
ExecStart=
ExecStart=/usr/bin/{PACKAGE} --web.listen-address=:{port(cluster)} \
--collector.textfile.directory={node_health.FOLDER} --no-collector.filesystem
ExecReload=
Restart=always
RestartSec=2
"""
