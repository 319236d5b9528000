"""Let masters that leave, as far as they answer, give the virtual IP to another."""

import logging

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import keepalived
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase

LOG = logging.getLogger(__name__)


class ReleaseVirtualIp(Phase[Cluster]):
    """A machine that just vanishes takes the virtual IP with it for seconds."""

    title = "release the virtual IP"

    def needed(self, host: Host, context: Cluster) -> bool:
        leaving = host.node in context.leaving and context.is_master(host.node)
        return leaving and context.topology.virtual

    def apply(self, host: Host, context: Cluster) -> None:
        try:
            keepalived.stop(host)
        except MgmtDriverError as error:
            # It is to be replaced because something is wrong with it.
            LOG.warning("%s may keep the virtual IP until it is gone: %s", host.node, error)
