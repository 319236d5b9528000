"""See that the cluster's own networks take nothing away that its nodes need."""

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.cluster_params import NAME
from mgmt_drivers.engine.phase import Check
from mgmt_drivers.errors import ParameterError
from mgmt_drivers.machine import facts
from mgmt_drivers.machine.host import Host


class CheckNetworks(Check[Cluster]):
    """Check that conductor and name servers are outside the cluster's own networks.

    Nodes would lose the way to them, some day, when a node gets that part of the pod CIDR.
    """

    title = "check the cluster's networks"

    def check(self, host: Host, cluster: Cluster) -> None:
        named = [(str(address), what) for address, what in facts.gather(host).peers.items()]
        errors = cluster.params.swallowed(named)
        if errors:
            raise ParameterError([f"{NAME}.master_node.{key}: {why}" for key, why in errors])
