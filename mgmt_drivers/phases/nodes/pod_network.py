"""Give a new cluster its pod network."""

from mgmt_drivers.engine.phase import Forecast, HostPhase, Lanes
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED, Outcome
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl, pod_network
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.selection import OnLeader


class ApplyCniManifest(OnLeader, HostPhase[Cluster]):
    """Apply the CNI manifest of the VNF package.

    Only to a new cluster: what an operator changes later, such as its version, stays, also in one
    that is made of a backup.
    """

    title = "apply the CNI manifest"

    def select(self, cluster: Cluster) -> Lanes:
        is_new = cluster.leader in cluster.joining and not cluster.restore
        return super().select(cluster) if is_new else []

    def foresee(self, host: Host, cluster: Cluster) -> Forecast:
        return Forecast(CHANGED)

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        manifest = pod_network.manifest(cluster.params)
        return CHANGED if kubectl.apply(host, manifest) else UNCHANGED
