"""Keep pods from the cloud's metadata service, which hands out the user data of their machine."""

from collections.abc import Sequence

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.engine.phase import Change
from mgmt_drivers.machine import units
from mgmt_drivers.machine.files import STATE_FOLDER, File
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

UNIT = "tacker-drop-metadata.service"
_PROGRAM = f"{STATE_FOLDER}/drop-metadata.sh"
_FILES = (
    File(_PROGRAM, Script(__package__, "drop-metadata").text, "0755"),
    File(
        f"/etc/systemd/system/{UNIT}",
        f"""\
[Unit]
Description=Drop packets from pods to the metadata service of the cloud
# Starting, these may remove the rules of others.
After=nftables.service netfilter-persistent.service ufw.service firewalld.service
Before=containerd.service docker.service kubelet.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh {_PROGRAM}

[Install]
WantedBy=multi-user.target
""",
    ),
)


class CloseMetadataService(Change[Cluster, Sequence[File]]):
    """Keep pods from the metadata service of the cloud, which hands out user data."""

    title = "close the metadata service"

    def look(self, host: Host, cluster: Cluster) -> Sequence[File] | None:
        return None if units.is_as_configured(host, UNIT, _FILES) else _FILES

    def act(self, host: Host, cluster: Cluster, change: Sequence[File]) -> None:
        units.configure(host, UNIT, change)
