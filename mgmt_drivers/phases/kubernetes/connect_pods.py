"""Give the cluster its pod network."""

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl, pod_network
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.pod_network import PodNetwork
from mgmt_drivers.phases.phase import Phase


class ConnectPods(Phase[Cluster]):
    """A manifest of the package is applied once; the built-in network is set up per node."""

    title = "connect the pods"

    def needed(self, host: Host, context: Cluster) -> bool:
        if context.params.cni_manifest:
            return host is context.lead
        return not pod_network.is_configured(host, _network(host, context))

    def apply(self, host: Host, context: Cluster) -> None:
        if context.params.cni_manifest:
            kubectl.apply(host, context.params.cni_manifest.read_text())
        else:
            pod_network.configure(host, _network(host, context))


def _network(host: Host, cluster: Cluster) -> PodNetwork:
    facts = cluster.pod_network
    assert facts
    return PodNetwork(
        whole=cluster.params.pod_cidr,
        own=facts.shares[cluster.name(host.node)],
        server=f"https://{cluster.endpoint}",
        ca=facts.ca,
        token=facts.token,
    )
