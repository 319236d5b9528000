"""The cluster as an operation knows it; the context of the Kubernetes phases, immutable."""

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass

from mgmt_drivers.cluster.cluster_params import KubernetesParams
from mgmt_drivers.cluster.packages.runtime import ContainerRuntime, runtime_of
from mgmt_drivers.cluster.topology import Topology, group_of
from mgmt_drivers.engine.services import Store
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine.host import Host
from mgmt_drivers.params.proxy import Proxy


@dataclass(frozen=True)
class Cluster:
    """The cluster as an operation knows it.

    ``leader`` is the control-plane node on which the cluster is asked and changed. ``leaving`` are
    the machines that are about to be nodes no more, which need not be alive.
    """

    topology: Topology
    store: Store
    leader: Host
    leaving: Sequence[Node] = ()

    @property
    def params(self) -> KubernetesParams:
        return self.topology.params

    @functools.cached_property
    def runtime(self) -> ContainerRuntime:
        return runtime_of(self.params)

    @property
    def proxy(self) -> Proxy | None:
        """The proxy, with all that is inside the cluster going direct."""
        proxy = self.params.proxy
        if proxy is None:
            return None
        inside = ["127.0.0.1", "localhost", ".svc", ".cluster.local", self.topology.address]
        inside += [str(self.params.pod_cidr), str(self.params.service_cidr)]
        inside += [self.topology.address_of(node) for node in self.topology.nodes]
        listed = tuple(dict.fromkeys([*proxy.no_proxy, *inside]))
        return dataclasses.replace(proxy, no_proxy=listed)

    @property
    def endpoint(self) -> str:
        """Address and port of the cluster's API, as nodes reach it."""
        return f"{self.topology.address}:{self.topology.port}"

    @property
    def control_plane(self) -> list[Node]:
        """The control-plane nodes that are to stay."""
        return [node for node in self.topology.control_plane if node not in self.leaving]

    @property
    def leaving_control_plane(self) -> list[Node]:
        return [node for node in self.leaving if self.topology.is_control_plane(node)]

    def is_control_plane(self, host: Host) -> bool:
        return self.topology.is_control_plane(host.node)

    def masters(self, hosts: Sequence[Host]) -> list[Host]:
        return [host for host in hosts if self.is_control_plane(host)]

    def workers(self, hosts: Sequence[Host]) -> list[Host]:
        return [host for host in hosts if host.node in self.topology.workers]

    def pools(self, hosts: Sequence[Host]) -> list[list[Host]]:
        """The workers among the hosts, by their groups."""
        workers, params = self.workers(hosts), self.params
        return [
            [worker for worker in workers if group_of(worker.node, params) is group]
            for group in params.workers
        ]

    def nodes(self, hosts: Sequence[Host]) -> list[Host]:
        """The nodes among the hosts: all but the storage server."""
        return [host for host in hosts if host.node in self.topology.nodes]

    def storage(self, hosts: Sequence[Host]) -> list[Host]:
        """The storage server, if it is among the hosts."""
        server = self.topology.storage
        return [host for host in hosts if server and host.node == server.node]

    def address(self, host: Host) -> str:
        return self.topology.address_of(host.node)

    def name(self, host: Host) -> str:
        return self.topology.name(host.node)
