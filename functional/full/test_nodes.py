"""Nodes are scaled and healed in every way, each way in an operation of its own, through v1."""

from functional import guide_outputs
from functional.nodes_scenario import NodesScenario
from tools.client.config import CONFIG
from tools.client.lcm import Vnf


class NodesThroughV1(NodesScenario):
    """The runtime is containerd."""

    image = CONFIG.prepared_image

    def test_nodes_through_v1(self) -> None:
        vnf = self.scale_and_heal_nodes()
        words = ["vim", "show", f"vim-{self.name}"]
        for column in ("name", "type", "status", "auth_url"):
            words += ["-c", column]
        guide_outputs.compare_openstack("vim", words)
        self.check_terminate(vnf, self.check_cnf(vnf))

    def scale_out_and_in(self, vnf: Vnf) -> None:
        super().scale_out_and_in(vnf)
        self.check_guide_output_of_operations("scaled", vnf, "SCALE")
        self.check_guide_output_of_resources("workers", vnf, "complex_nested_worker.yaml")

    def heal_first_master(self, vnf: Vnf) -> None:
        super().heal_first_master(vnf)
        self.check_guide_output_of_operations("healed", vnf, "HEAL")
        self.check_guide_output_of_resources("servers", vnf, "OS::Nova::Server")

    def check_guide_output_of_resources(self, name: str, vnf: Vnf, kind: str) -> None:
        words = ["stack", "resource", "list", f"vnflcm_{vnf.id}", "-n", "2"]
        words += ["--filter", f"type={kind}"]
        for column in ("resource_name", "physical_resource_id", "resource_status"):
            words += ["-c", column]
        guide_outputs.compare_openstack(name, words, {vnf.id: "VNF-INSTANCE-ID"})
