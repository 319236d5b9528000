"""Give the cluster the pod network of the VNF package, instead of the built-in one."""

from mgmt_drivers.engine.phase import Change, Lanes
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.selection import OnLeader


class ApplyCniManifest(OnLeader, Change[Cluster, str]):
    """In clusters whose parameters name a manifest, which kubectl compares with what is there."""

    title = "apply the CNI manifest"

    def select(self, cluster: Cluster) -> Lanes:
        return super().select(cluster) if cluster.params.cni_manifest else []

    def look(self, host: Host, cluster: Cluster) -> str | None:
        manifest = cluster.params.cni_manifest
        return manifest.read_text() if manifest else None

    def act(self, host: Host, cluster: Cluster, manifest: str) -> None:
        kubectl.apply(host, manifest)
