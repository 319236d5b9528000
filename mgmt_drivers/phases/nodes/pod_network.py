"""Give the nodes their pod network: that of the VNF package, or the built-in one."""

import functools
import ipaddress
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from mgmt_drivers import grammar
from mgmt_drivers.engine.phase import Ask, Check, HostPhase, Lanes, Phase, Step
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED, Outcome
from mgmt_drivers.errors import MgmtDriverError, WaitTimeout
from mgmt_drivers.host import interfaces
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl, pod_network, service_account
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.kube.pod_network import PodNetwork
from mgmt_drivers.kube.service_account import Credentials
from mgmt_drivers.phases.selection import OnJoiningNodes, OnLeader

_LIMIT = 120.0  # seconds for each node to be given its part of the pod CIDR


class CheckSubnet(OnJoiningNodes, Check[Cluster]):
    """Refuse nodes in different subnets, where the pod network is the built-in one.

    A node routes packets for pods by way of their node, and Linux takes no other gateway than
    one in the node's own subnet.
    """

    title = "check the subnet"

    def select(self, cluster: Cluster) -> Lanes:
        return [] if cluster.params.cni_manifest else super().select(cluster)

    def check(self, host: Host, cluster: Cluster) -> None:
        subnet = interfaces.having(host, cluster.address(host)).subnet
        address_of = cluster.topology.address_of
        nodes = cluster.topology.nodes
        outside = [n for n in nodes if ipaddress.IPv4Address(address_of(n)) not in subnet]
        if outside:
            raise MgmtDriverError(
                f"outside of the machine's subnet {subnet} are {', '.join(map(str, outside))}: "
                "the built-in pod network needs all nodes in one subnet. Put them into one, or "
                "name another pod network in cni_manifest_path"
            )


class ApplyCniManifest(OnLeader, HostPhase[Cluster]):
    """Apply the pod network of the VNF package, where the parameters name one.

    Only to a new cluster: what an operator changes later, such as its version, stays.
    """

    title = "apply the CNI manifest"

    def select(self, cluster: Cluster) -> Lanes:
        is_new = cluster.params.cni_manifest and cluster.leader in cluster.joining
        return super().select(cluster) if is_new else []

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        manifest = cluster.params.cni_manifest
        return CHANGED if manifest and kubectl.apply(host, manifest.read_text()) else UNCHANGED


class ConfigurePodNetwork(OnJoiningNodes, Phase[Cluster]):
    """Configure the built-in pod network, where the parameters name no manifest."""

    title = "configure the pod network"

    def select(self, cluster: Cluster) -> Lanes:
        return [] if cluster.params.cni_manifest else super().select(cluster)

    @contextmanager
    def around(self, cluster: Cluster, ask: Ask) -> Iterator[Step[Cluster]]:
        """Give each node its pod CIDR, and credentials to learn those of the others."""
        cidrs = ask(cluster.leader, functools.partial(_pod_cidrs, cluster=cluster))
        read = functools.partial(service_account.read, account=pod_network.ACCOUNT)
        credentials = ask(cluster.leader, read)
        yield functools.partial(_configure, cidrs=cidrs, credentials=credentials)


def _pod_cidrs(host: Host, cluster: Cluster) -> Mapping[str, ipaddress.IPv4Network]:
    """The pod CIDR of each joining node, by name, once the controller manager has given it.

    :raises MgmtDriverError: when one of them is no node's part of the cluster's
    """
    wanted = {cluster.name(node) for node in cluster.joining}
    lacking = wanted
    for _ in host.clock.attempts(_LIMIT):
        nodes = kubectl.nodes(host)
        cidrs = {name: nodes[name]["spec"].get("podCIDR") for name in wanted & set(nodes)}
        lacking = wanted - {name for name, cidr in cidrs.items() if cidr}
        if not lacking:
            return {name: _part(cluster, name, cidr) for name, cidr in cidrs.items()}
    raise WaitTimeout(
        f"no part of the pod CIDR {cluster.params.pod_cidr} (master_node.pod_cidr) was given to "
        f"{', '.join(sorted(lacking))} within {_LIMIT:g} s"
    )


def _part(cluster: Cluster, name: str, reported: object) -> ipaddress.IPv4Network:
    cidr, whole = grammar.ipv4_network(str(reported)), cluster.params.pod_cidr
    if cidr and cidr.subnet_of(whole) and cidr.prefixlen == cluster.params.node_cidr_prefix:
        return cidr
    raise MgmtDriverError(
        f"the cluster reports {str(reported)!a} as pod CIDR of node {name}, which is no "
        f"/{cluster.params.node_cidr_prefix} of {whole}"
    )


def _configure(
    host: Host,
    cluster: Cluster,
    cidrs: Mapping[str, ipaddress.IPv4Network],
    credentials: Credentials,
) -> Outcome:
    network = PodNetwork(
        pod_cidr=cluster.params.pod_cidr,
        node_cidr=cidrs[cluster.name(host)],
        mtu=interfaces.having(host, cluster.address(host)).mtu,
        server=f"https://{cluster.endpoint}",
        credentials=credentials,
    )
    if pod_network.is_configured(host, network):
        return UNCHANGED
    pod_network.configure(host, network)
    return CHANGED
