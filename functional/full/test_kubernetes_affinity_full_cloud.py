"""A worker is to be healed while no compute host is free for its replacement."""

from functional import shared
from functional.clusters import WORKER
from functional.test_kubernetes_affinity import ASPECT, AffinityScenario


class HealInAFullCloud(AffinityScenario):
    """It fails with the reason, and comes through once a host is free."""

    def test_heal_in_a_full_cloud(self) -> None:
        self.images = shared.registry()
        vnf = self.vnf(self.package_of())
        self.assert_completed(vnf.instantiate(self.request("podaffinity", self.images)))
        self.assert_completed(vnf.scale("SCALE_OUT", ASPECT, 2))
        self.cluster = self.cluster_works(vnf, self.images, masters=3, workers=4)
        vnfc, _ = self.vnfcs(vnf, WORKER)[0]
        heal = {"vnfcInstanceId": [vnfc]}

        failed = vnf.heal(heal)
        self.assert_failed(failed, "Heat could not make workerNode", "stack failures list")
        self.assert_failed(vnf.retry(failed), "Heat could not make workerNode")
        self.tacker.fail_vnf_instance(failed["id"])
        self.assert_completed(vnf.scale("SCALE_IN", ASPECT, 1))
        if any(vnfc == left for left, _ in self.vnfcs(vnf, WORKER)):
            self.assert_completed(vnf.heal(heal))
        self.cluster_works(vnf, self.images, masters=3, workers=3)
        self.workers_are_apart(vnf, workers=3)
