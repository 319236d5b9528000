"""Give a new cluster its pod network."""

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.pod_network import pod_network
from mgmt_drivers.engine.phase import HostPhase, Prediction
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED, Outcome
from mgmt_drivers.machine.host import Host


class ApplyCniManifest(HostPhase[Cluster]):
    """Apply the CNI manifest of the VNF package, to a new cluster.

    What an operator changes later, such as the version of the pod network, stays.
    """

    title = "apply the CNI manifest"
    prediction = Prediction(CHANGED)

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        manifest = pod_network.manifest(cluster.params)
        return CHANGED if kubectl.apply(host, manifest) else UNCHANGED
