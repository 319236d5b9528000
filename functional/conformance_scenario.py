"""The base of scenarios that run Kubernetes' conformance tests against a cluster of their own."""

from functional import conformance, shared
from functional.cluster_scenario import MASTER, ClusterScenario
from functional.conformance import Selection
from tools.client.api import V2
from tools.client.config import CONFIG


class ConformanceScenario(ClusterScenario):
    """A balanced cluster as the guide instantiates it, without any workload beside the tests."""

    api = V2()
    image = CONFIG.prepared_image

    def setUp(self) -> None:
        super().setUp()
        if reason := conformance.reason_to_skip():
            self.skipTest(reason)

    def check_conformance(self, selection: Selection) -> None:
        self.registry = shared.private_registry()
        vnf = self.create_vnf(self.onboard_package())
        self.assert_completed(vnf.instantiate(self.request("complex", self.registry)))
        self.cluster = self.check_cluster(vnf, self.registry, masters=3, workers=2)
        master = self.machines(vnf)[MASTER][0]
        conformance.check(master, self.registry, selection, self.name)
        self.assertEqual(5, len(self.cluster.ready_nodes()))
        self.check_terminate(vnf)
