"""Give a cluster its pod network."""

import logging
from typing import ClassVar

from mgmt_drivers.clock import NotYet
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.pod_network import pod_network
from mgmt_drivers.engine.phase import Change, Prediction
from mgmt_drivers.engine.trace import CHANGED
from mgmt_drivers.errors import CommandFailed
from mgmt_drivers.machine.host import Host

LOG = logging.getLogger(__name__)

# Seconds for the API to serve a kind whose definition is established.
_LIMIT = 60.0
_WORKLOADS = ("daemonset.apps/", "deployment.apps/")


class ApplyCniManifest(Change[Cluster, str]):
    """Apply the CNI manifest of the VNF package, to a new cluster."""

    title = "apply the CNI manifest"
    prediction: ClassVar[Prediction | None] = Prediction(CHANGED)
    takes_over = True

    def look(self, host: Host, cluster: Cluster) -> str | None:
        """The manifest, if the cluster's objects are not as the manifest has them."""
        manifest = pod_network.manifest(cluster.params)
        return None if kubectl.compare(host, manifest).are_equal else manifest

    def act(self, host: Host, cluster: Cluster, manifest: str) -> None:
        definitions, others = pod_network.split(manifest)
        if definitions:
            kubectl.merge(host, definitions, self.takes_over)
            kubectl.wait_for(host, "Established", definitions)

        def apply() -> None:
            try:
                kubectl.merge(host, others, self.takes_over)
            except CommandFailed as error:
                if not definitions or "no matches for kind" not in error.tail:
                    raise
                raise NotYet(error.tail) from error

        if others:
            host.clock.until(apply, _LIMIT, "the kinds that the CNI manifest defines")


class UpdatePodNetwork(ApplyCniManifest):
    """Apply the CNI manifest of the VNF package again, which may be another package's.

    Fields that others have added stay. If others have changed a field of the manifest, or have put
    another pod network in the place of the manifest's, nothing is applied.
    """

    title = "update the pod network"
    prediction = None
    takes_over = False

    def look(self, host: Host, cluster: Cluster) -> str | None:
        manifest = pod_network.manifest(cluster.params)
        found = kubectl.compare(host, manifest)
        if found.conflict:
            LOG.warning("the CNI manifest is not applied again: %s", found.conflict)
        is_there = any(name.startswith(_WORKLOADS) for name in found.names)
        return manifest if is_there and not found.are_equal and not found.conflict else None
