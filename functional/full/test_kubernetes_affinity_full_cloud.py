"""The heal of a worker while no compute host is free for its replacement."""

from functional import shared
from functional.cluster_scenario import WORKER
from functional.test_kubernetes_affinity import ASPECT, AffinityScenario
from tools.client import stacks


class HealInAFullCloud(AffinityScenario):
    """Every attempt fails with the reason; the VNF can be terminated."""

    def test_heal_in_a_full_cloud(self) -> None:
        self.count_hosts()
        if not self.fills_cloud:
            self.skipTest(f"the cloud has more than {self.workers} compute hosts")
        self.registry = shared.private_registry()
        vnf = self.create_vnf(self.onboard_package())
        self.assert_completed(vnf.instantiate(self.request("podaffinity", self.registry)))
        self.assert_completed(vnf.scale("SCALE_OUT", ASPECT, self.workers - 2))
        self.cluster = self.check_cluster(vnf, self.registry, masters=3, workers=self.workers)
        vnfc, _ = self.vnfcs(vnf, WORKER)[0]

        failed = vnf.heal({"vnfcInstanceId": [vnfc]})
        self.assert_failed(failed, "Heat could not create workerNode", "stack failures list")
        self.assert_failed(vnf.retry(failed), "Heat could not create workerNode")
        reasons = stacks.failure_reasons(self.cloud, vnf.id)
        self.assertIn("No valid host was found", str(reasons))
        self.tacker.fail_vnf_instance(failed["id"])
        self.assert_completed(vnf.terminate())
        stacks.await_deletion(self.cloud, vnf.id)
