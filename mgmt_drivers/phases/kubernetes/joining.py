"""Confine a phase to the machines that an operation is to make something of."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase


class Joining(Phase[Cluster]):
    """The phase inside is not tried on machines that are nodes already."""

    def __init__(self, inside: Phase[Any]) -> None:
        self.title = inside.title
        self.inside = inside

    def needed(self, host: Host, context: Cluster) -> bool:
        return self._concerns(host, context) and self.inside.needed(host, context)

    def apply(self, host: Host, context: Cluster) -> None:
        self.inside.apply(host, context)

    @contextmanager
    def around(self, context: Cluster) -> Iterator[None]:
        with self.inside.around(context):
            yield

    def _concerns(self, host: Host, context: Cluster) -> bool:
        return host.node in context.joining


class Coming(Joining):
    """Also on a storage server that has come."""

    def _concerns(self, host: Host, context: Cluster) -> bool:
        is_storage = context.storage is not None and host.node == context.storage.node
        return is_storage or super()._concerns(host, context)
