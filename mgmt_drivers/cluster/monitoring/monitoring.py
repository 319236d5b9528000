"""The exporter of a machine, and the service of the drivers that measures the machine's health.

The exporter is the distribution's package. The service runs the payload :mod:`node_health`, which
writes a file that the exporter reads.
"""

import re
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
# The free part of a disk, of bytes or inodes, below which the disk is full: the alert DiskFull's.
LEAST_FREE = 0.03
_ANSWER_LIMIT = 20.0  # seconds for a machine that may be ill
_TOTAL_AND_FREE = re.compile(r"(?<!\S)([0-9]{1,19}) +(-?[0-9]{1,19})(?!\S)")


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


def is_disk_full(host: Host, cluster: Cluster) -> bool:
    """Ask a node whether one of the disks is full whose free part its health report tells.

    A path that is not there counts for nothing.

    :raises MgmtDriverError: if the machine does not answer within 20 seconds
    """
    argv = ("df", "--output=size,avail,itotal,iavail", *_paths(host, cluster))
    shown = host.session.run(argv, check=False, timeout=_ANSWER_LIMIT).stdout
    # Some file systems, such as Btrfs, count no inodes.
    pairs = [(int(total), int(free)) for total, free in _TOTAL_AND_FREE.findall(shown)]
    return min((free / total for total, free in pairs if total), default=0.0) < LEAST_FREE


def _paths(host: Host, cluster: Cluster) -> Sequence[str]:
    """The paths of a machine whose disks may run full."""
    if host.node not in cluster.topology.nodes:  # the storage server
        return ["/"]
    # A path that lies on the same disk as another one has the same value.
    paths = ["/var/lib/kubelet", f"/var/lib/{cluster.runtime.service}"]
    return [*paths, upkeep.DATA] if cluster.is_control_plane(host) else paths


def _arguments(host: Host, cluster: Cluster) -> Sequence[str]:
    paths = _paths(host, cluster)
    if host.node not in cluster.topology.nodes:
        return paths
    etcd = ["--etcd"] if cluster.is_control_plane(host) else []
    return ["--api", cluster.endpoint, "--node", cluster.name(host), *etcd, *paths]


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
