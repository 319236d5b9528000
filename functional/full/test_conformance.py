"""Kubernetes' conformance tests that may run beside each other, on a new cluster."""

from functional import conformance, shared
from functional.cluster_scenario import MASTER, ClusterScenario
from tools.client.api import V2
from tools.client.config import CONFIG


class ConformanceScenario(ClusterScenario):
    """A cluster of its own: workloads of another scenario would take memory and pods of nodes.

    It has all settings of hardening that a workload could notice, and policies in force.
    """

    api = V2()
    image = CONFIG.prepared_image

    def check_conformance(self, *selections: conformance.Selection) -> None:
        if not CONFIG.kubernetes_mirror:
            self.skipTest("the conformance tests are those of the embedded cloud's mirror")
        self.registry = shared.private_registry()
        vnf = self.create_vnf(self.onboard_package())
        request = self.request("complex", self.registry, hardening="cis")
        self.assert_completed(vnf.instantiate(request))
        self.cluster = self.check_cluster(vnf, self.registry, masters=3, workers=2)
        master = self.machines(vnf)[MASTER][0]
        for selection in selections:
            with self.subTest(selection.name):
                conformance.check(master, self.registry, selection, self.name)
        self.assertEqual(5, len(self.cluster.ready_nodes()))
        self.check_terminate(vnf)


class Conformance(ConformanceScenario):
    def test_conformance(self) -> None:
        self.check_conformance(conformance.PARALLEL)
