"""Let control-plane nodes that leave, as far as they answer, give the virtual IP to another."""

import logging

from mgmt_drivers.engine.phase import HostPhase, Lanes, at_once
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED, Outcome
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import keepalived
from mgmt_drivers.kube.cluster import Cluster

LOG = logging.getLogger(__name__)


class ReleaseVirtualIp(HostPhase[Cluster]):
    """A machine that just vanishes takes the virtual IP with it for seconds."""

    title = "release the virtual IP"

    def select(self, cluster: Cluster) -> Lanes:
        if not cluster.topology.is_balanced:
            return []
        return at_once([h for h in cluster.hosts if h.node in cluster.leaving_control_plane])

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        try:
            keepalived.stop(host)
        except MgmtDriverError as error:
            # It is to be replaced because something is wrong with it.
            LOG.warning("%s may keep the virtual IP until it is gone: %s", host.node, error)
            return UNCHANGED
        return CHANGED
