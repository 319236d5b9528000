"""What an operation knows of its cluster; the context of the Kubernetes phases, immutable."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mgmt_drivers.engine.services import Store
from mgmt_drivers.host.host import Host
from mgmt_drivers.inventory import Node
from mgmt_drivers.kube.runtime import ContainerRuntime, runtime_of
from mgmt_drivers.kube.topology import StorageServer, Topology
from mgmt_drivers.params.backup import Restore
from mgmt_drivers.params.kubernetes import KubernetesParams
from mgmt_drivers.params.proxy import Proxy


@dataclass(frozen=True)
class Upgrade:
    """An upgrade to the version that the cluster's parameters name.

    ``hosts`` are all nodes. ``changed`` are the parameters of the instantiate request that it
    replaces, as they stand in a request.
    """

    hosts: Sequence[Host]
    changed: Mapping[str, Any]
    workers_at_once: int = 1


@dataclass(frozen=True)
class Renewal:
    """A renewal of certificates, on control-plane nodes, of all that expire within so many days."""

    hosts: Sequence[Host]
    within: float


@dataclass(frozen=True)
class Cluster:
    """The cluster as an operation finds it.

    ``hosts`` are the machines that the operation is logged in to. ``leader`` is the
    control-plane node on which the cluster is asked and changed. ``joining`` are the hosts
    that are to become nodes, ``leaving`` the machines that are to be nodes no more, which
    need not be alive. ``members`` names the nodes among the hosts that have joined before.
    ``storage`` is the storage server, when it comes or goes; it is among the hosts also when its
    exports follow the nodes. ``upgrade`` is that of an operation that upgrades, ``renewal`` that
    of one that finds certificates to be renewed, ``restore`` what a new cluster is made of.
    ``rolls_back`` tells that control-plane nodes which a failed scale-out brought are no machines
    of the VNF, and nobody knows them any more.
    """

    topology: Topology
    store: Store
    hosts: Sequence[Host]
    leader: Host
    joining: Sequence[Host] = ()
    leaving: Sequence[Node] = ()
    members: frozenset[str] = frozenset()
    storage: Sequence[StorageServer] = ()
    upgrade: Upgrade | None = None
    renewal: Renewal | None = None
    restore: Restore | None = None
    rolls_back: bool = False

    @property
    def params(self) -> KubernetesParams:
        return self.topology.params

    @property
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
        """Where the cluster's API is reached from inside: address and port."""
        return f"{self.topology.address}:{self.topology.port}"

    @property
    def control_plane(self) -> list[Node]:
        """The control-plane nodes that are to stay."""
        return [node for node in self.topology.control_plane if node not in self.leaving]

    @property
    def joining_control_plane(self) -> list[Host]:
        return [host for host in self.joining if self.is_control_plane(host)]

    @property
    def leaving_control_plane(self) -> list[Node]:
        return [node for node in self.leaving if self.topology.is_control_plane(node)]

    @property
    def changes_control_plane(self) -> bool:
        """Whether control-plane nodes come or go."""
        return bool(self.joining_control_plane or self.leaving_control_plane or self.rolls_back)

    @property
    def storage_hosts(self) -> list[Host]:
        """The host of the storage server, when it comes."""
        nodes = [server.node for server in self.storage]
        return [host for host in self.hosts if host.node in nodes]

    @property
    def upgrading(self) -> Sequence[Host]:
        """The hosts that are upgraded."""
        return self.upgrade.hosts if self.upgrade else ()

    @property
    def renewing(self) -> Sequence[Host]:
        """The control-plane nodes whose certificates are renewed."""
        return self.renewal.hosts if self.renewal else ()

    @property
    def prepared(self) -> list[Host]:
        """The hosts that are made ready for a version: those that join, or are upgraded."""
        return [*self.joining, *self.upgrading]

    @property
    def new_hosts(self) -> list[Host]:
        """The machines that are set up: all that have come, or those that are upgraded."""
        return [*self.prepared, *self.storage_hosts]

    @property
    def exporting(self) -> list[tuple[Host, StorageServer]]:
        """The host of the storage server, wherever the operation is logged in to it."""
        server = self.topology.storage
        return [(host, server) for host in self.hosts if server and server.node == host.node]

    def storage_of(self, host: Host) -> StorageServer:
        """The storage server that a host is."""
        return next(server for found, server in self.exporting if found is host)

    def has_joined(self, host: Host) -> bool:
        return self.name(host) in self.members

    def is_control_plane(self, host: Host) -> bool:
        return self.topology.is_control_plane(host.node)

    def address(self, host: Host) -> str:
        """The machine's address in the cluster."""
        return self.topology.address_of(host.node)

    def name(self, host: Host) -> str:
        """The machine's node name."""
        return self.topology.name(host.node)
