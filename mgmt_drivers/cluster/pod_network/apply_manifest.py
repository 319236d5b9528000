"""Give a cluster its pod network."""

import logging
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from mgmt_drivers.cluster.addons import addons, manifests
from mgmt_drivers.cluster.addons.manifests import Object
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.pod_network import adoption
from mgmt_drivers.cluster.pod_network.adoption import Adoption
from mgmt_drivers.engine.phase import Change, Prediction
from mgmt_drivers.engine.trace import CHANGED
from mgmt_drivers.machine.host import Host

LOG = logging.getLogger(__name__)

_REFUSED = "the CNI manifest is not applied again: %s"
_WORKLOADS = ("daemonset.apps/", "deployment.apps/")


class ApplyCniManifest(Change[Cluster, Sequence[Object]]):
    """Apply the CNI manifest of the VNF package, to a new cluster."""

    title = "apply the CNI manifest"
    prediction: ClassVar[Prediction | None] = Prediction(CHANGED)

    def look(self, host: Host, cluster: Cluster) -> Sequence[Object] | None:
        objects = addons.of_pod_network(cluster.params)
        return None if kubectl.compare(host, manifests.text_of(objects)).are_equal else objects

    def act(self, host: Host, cluster: Cluster, objects: Sequence[Object]) -> None:
        manifests.apply(host, objects, takes_over=True)


class Update(NamedTuple):
    """Objects to apply, and objects to take over before."""

    objects: Sequence[Object]
    adoptions: Sequence[Adoption]


class UpdatePodNetwork(Change[Cluster, Update]):
    """Apply the CNI manifest of the VNF package again, which may be another package's.

    Fields that others have added stay. If others have changed a field of the manifest, or have put
    another pod network in the place of the manifest's, nothing is applied. Objects that earlier
    drivers have applied on the client's side are taken over.
    """

    title = "update the pod network"

    def look(self, host: Host, cluster: Cluster) -> Update | None:
        objects = addons.of_pod_network(cluster.params)
        manifest = manifests.text_of(objects)
        found = kubectl.compare(host, manifest)
        adoptions = adoption.find(host, manifest) if found.conflict else []
        if found.conflict and not adoptions:
            LOG.warning(_REFUSED, found.conflict)
            return None
        is_there = any(name.startswith(_WORKLOADS) for name in found.names)
        return Update(objects, adoptions) if is_there and not found.are_equal else None

    def act(self, host: Host, cluster: Cluster, update: Update) -> None:
        for adopted in update.adoptions:
            adoption.adopt(host, adopted)
        manifest = manifests.text_of(update.objects)
        if update.adoptions and (conflict := kubectl.compare(host, manifest).conflict):
            LOG.warning(_REFUSED, conflict)
            return
        manifests.apply(host, update.objects, takes_over=False)
