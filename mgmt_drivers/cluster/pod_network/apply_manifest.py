"""Give a cluster its pod network."""

import logging
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from mgmt_drivers.clock import NotYet
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.pod_network import adoption, pod_network
from mgmt_drivers.cluster.pod_network.adoption import Adoption
from mgmt_drivers.engine.phase import Change, Prediction
from mgmt_drivers.engine.trace import CHANGED
from mgmt_drivers.errors import CommandFailed
from mgmt_drivers.machine.host import Host

LOG = logging.getLogger(__name__)

# Seconds for the API to serve a kind whose definition is established.
_LIMIT = 60.0
_REFUSED = "the CNI manifest is not applied again: %s"
_WORKLOADS = ("daemonset.apps/", "deployment.apps/")


class ApplyCniManifest(Change[Cluster, str]):
    """Apply the CNI manifest of the VNF package, to a new cluster."""

    title = "apply the CNI manifest"
    prediction: ClassVar[Prediction | None] = Prediction(CHANGED)

    def look(self, host: Host, cluster: Cluster) -> str | None:
        """The manifest, if the cluster's objects are not as the manifest has them."""
        manifest = pod_network.manifest(cluster.params)
        return None if kubectl.compare(host, manifest).are_equal else manifest

    def act(self, host: Host, cluster: Cluster, manifest: str) -> None:
        _apply(host, manifest, takes_over=True)


class Update(NamedTuple):
    """A manifest to apply, and objects to take over before."""

    manifest: str
    adoptions: Sequence[Adoption]


class UpdatePodNetwork(Change[Cluster, Update]):
    """Apply the CNI manifest of the VNF package again, which may be another package's.

    Fields that others have added stay. If others have changed a field of the manifest, or have put
    another pod network in the place of the manifest's, nothing is applied. Objects that earlier
    drivers have applied on the client's side are taken over.
    """

    title = "update the pod network"

    def look(self, host: Host, cluster: Cluster) -> Update | None:
        manifest = pod_network.manifest(cluster.params)
        found = kubectl.compare(host, manifest)
        adoptions = adoption.find(host, manifest) if found.conflict else []
        if found.conflict and not adoptions:
            LOG.warning(_REFUSED, found.conflict)
            return None
        is_there = any(name.startswith(_WORKLOADS) for name in found.names)
        return Update(manifest, adoptions) if is_there and not found.are_equal else None

    def act(self, host: Host, cluster: Cluster, update: Update) -> None:
        for adopted in update.adoptions:
            adoption.adopt(host, adopted)
        if update.adoptions and (conflict := kubectl.compare(host, update.manifest).conflict):
            LOG.warning(_REFUSED, conflict)
            return
        _apply(host, update.manifest, takes_over=False)


def _apply(host: Host, manifest: str, takes_over: bool) -> None:
    """Apply definitions of custom resources first, and wait for the kinds that they define."""
    definitions, others = pod_network.split(manifest)
    if definitions:
        kubectl.merge(host, definitions, takes_over)
        kubectl.wait_for(host, "Established", definitions)

    def apply() -> None:
        try:
            kubectl.merge(host, others, takes_over)
        except CommandFailed as error:
            if not definitions or "no matches for kind" not in error.tail:
                raise
            raise NotYet(error.tail) from error

    if others:
        host.clock.until(apply, _LIMIT, "the kinds that the CNI manifest defines")
