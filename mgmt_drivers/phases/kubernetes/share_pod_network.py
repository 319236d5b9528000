"""Learn which share of the pods' network each node got, for the built-in pod network."""

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl, pod_network, service_account
from mgmt_drivers.kube.cluster import Cluster, PodNetworkFacts
from mgmt_drivers.phases.phase import Phase
from mgmt_drivers.ssh import wait

_LIMIT = 120.0  # seconds for each node to be given its share


class SharePodNetwork(Phase[Cluster]):
    """Makes the account too by which nodes learn of each other; leaves all in the context."""

    title = "share out the pods' network"

    def needed(self, host: Host, context: Cluster) -> bool:
        return host is context.lead and not context.params.cni_manifest

    def apply(self, host: Host, context: Cluster) -> None:
        token, ca = service_account.ensure(host, pod_network.ACCOUNT)
        wanted = {context.name(node) for node in context.joining}

        def given() -> dict[str, str]:
            nodes = kubectl.nodes(host)
            found = {name: nodes[name]["spec"].get("podCIDR") for name in wanted & set(nodes)}
            lacking = wanted - {name for name, share in found.items() if share}
            if lacking:
                raise wait.NotYet(f"not given to {', '.join(sorted(lacking))}")
            return found

        network = context.params.pod_cidr
        what = f"shares of the pods' network {network} (master_node.pod_cidr) for every node"
        shares = wait.until(given, _LIMIT, what)
        context.pod_network = PodNetworkFacts(shares, token, ca)
