"""A worker is to be healed while no compute host is free for its replacement."""

from functional import shared
from functional.clusters import WORKER
from functional.test_kubernetes_affinity import ASPECT, AffinityScenario
from tools.client import stacks


class HealInAFullCloud(AffinityScenario):
    """It fails with the reason, as often as it is tried; the VNF can be terminated."""

    def test_heal_in_a_full_cloud(self) -> None:
        self.images = shared.registry()
        vnf = self.vnf(self.package_of())
        self.assert_completed(vnf.instantiate(self.request("podaffinity", self.images)))
        self.assert_completed(vnf.scale("SCALE_OUT", ASPECT, 2))
        self.cluster = self.cluster_works(vnf, self.images, masters=3, workers=4)
        vnfc, _ = self.vnfcs(vnf, WORKER)[0]

        failed = vnf.heal({"vnfcInstanceId": [vnfc]})
        self.assert_failed(failed, "Heat could not make workerNode", "stack failures list")
        self.assert_failed(vnf.retry(failed), "Heat could not make workerNode")
        reasons = stacks.failures(self.cloud, vnf.id)
        self.assertIn("No valid host was found", str(reasons))
        self.tacker.fail_vnf_instance(failed["id"])
        self.assert_completed(vnf.terminate())
        stacks.await_end(self.cloud, vnf.id)
