"""Give the cluster its pod network."""

from collections.abc import Mapping
from typing import Any

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl, pod_network
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.pod_network import PodNetwork
from mgmt_drivers.phases.phase import Phase
from mgmt_drivers.ssh import wait

_LIMIT = 120.0  # seconds for each node to be given its share


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
    shares = _shares(cluster)
    own = cluster.name(host)
    return PodNetwork(
        whole=cluster.params.pod_cidr,
        own=shares[own][0],
        routes={share: address for name, (share, address) in shares.items() if name != own},
    )


def _shares(cluster: Cluster) -> Mapping[str, tuple[str, str]]:
    """Each node's share of the pods' network and its address; asked once."""
    wanted = {cluster.name(host) for host in cluster.hosts}

    def given() -> dict[str, tuple[str, str]]:
        nodes = kubectl.nodes(cluster.lead)
        shares = {
            name: (node["spec"]["podCIDR"], _address(node))
            for name, node in nodes.items()
            if "podCIDR" in node["spec"]
        }
        lacking = wanted - set(shares)
        if lacking:
            raise wait.NotYet(f"not given to {', '.join(sorted(lacking))}")
        return shares

    with cluster.lock:
        if cluster.pod_shares is None:
            cluster.pod_shares = wait.until(given, _LIMIT, "shares of the pods' network")
        return cluster.pod_shares


def _address(node: Mapping[str, Any]) -> str:
    addresses = node["status"]["addresses"]
    return str(next(a["address"] for a in addresses if a["type"] == "InternalIP"))
