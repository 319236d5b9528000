"""See that the disk of a control-plane node is fast enough for etcd."""

import logging
import re

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.etcd import upkeep
from mgmt_drivers.cluster.kubeadm import kubeadm
from mgmt_drivers.engine.phase import Check, Prediction
from mgmt_drivers.engine.trace import CHECKED
from mgmt_drivers.errors import CommandTimeout
from mgmt_drivers.machine import answers
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

LOG = logging.getLogger(__name__)

_MEASURE = Script(__package__, "measure-syncs")
_TIME = re.compile(r"[0-9]{1,8}[.][0-9]")
# Milliseconds for fdatasync (etcd's documentation, "What does the etcd warning 'failed to send out
# heartbeat on time' mean?": the 99th percentile, of which 50 writes tell little).
_MOST = 10.0


class CheckDisk(Check[Cluster]):
    """Preflight: warn of a disk on which etcd would be slow, before the machine becomes a node."""

    title = "measure the disk of etcd"
    prediction = Prediction(CHECKED)  # a measurement writes

    def check(self, host: Host, cluster: Cluster) -> None:
        if kubeadm.is_member(host):  # etcd writes meanwhile
            return
        slowness = _measure(host)
        if slowness:
            LOG.warning(
                "%s: %s. etcd needs a disk that takes less than %g ms: on a slower one requests "
                "to the API time out, and members lose their leader. Give control-plane nodes a "
                "faster disk (in the guide: \"The disk\" of etcd)",
                host.node, slowness, _MOST,
            )


def _measure(host: Host) -> str:
    """Measure the disk where etcd's data will lie; returns how slow it is, or an empty string."""
    try:
        seen = host.ask(*_MEASURE.command(upkeep.DATA))
    except CommandTimeout as error:
        return f"the disk of etcd keeps no write: {error}"
    if not seen.ok:
        return f"the disk of etcd cannot be measured: {seen.tail}"
    time = float(answers.checked(seen.stdout.strip(), _TIME, "a time in milliseconds"))
    return f"the disk of etcd needs {time:g} ms (median) to keep a write" if time > _MOST else ""
