"""A cluster of the series before the newest, on the Debian before, becomes one of the newest."""

from functional import guide_outputs
from functional.masters_scenario import MastersScenario
from functional.upgrade_scenario import BEFORE, NEWEST, UpgradeScenario, newest_series
from tools.client import wait
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote

_VNFCS = "vnfcResourceInfo", "id", "vduId", "computeResource.resourceId"
_ETCD = "--namespace kube-system get pods --selector component=etcd"


class LifeOfAnOlderCluster(UpgradeScenario, MastersScenario):
    """Through the v1 API, which names what it did as the guide shows."""

    image = CONFIG.older_image
    options = {"hardening": "cis"}

    def test_life_of_an_older_cluster(self) -> None:
        vnf = self.instantiate_balanced_cluster()
        self.check_versions(BEFORE)
        self.check_hardening(vnf)
        with newest_series():  # with which the guide's outputs were recorded
            self.check_guide_output_of_instance(vnf)
            self.check_guide_output_of_resources("servers_created", vnf, "OS::Nova::Server")
        self.scale_out_and_in(vnf)
        with newest_series():
            self.check_guide_output_of_operations("scaled", vnf, "SCALE")
            self.check_guide_output_of_resources("workers", vnf, "complex_nested_worker.yaml")
            guide_outputs.compare_instance("scale_status", vnf.id, "scaleStatus")
            self.check_guide_output("nodes_scaled", vnf, "get nodes")
        self.heal_workers(vnf, 1)
        self.heal_virtual_ip_holder(vnf)
        with newest_series():
            self.check_guide_output_of_operations("healed", vnf, "HEAL")
            self.check_guide_output_of_resources("servers", vnf, "OS::Nova::Server")
            guide_outputs.compare_instance("vnfcs", vnf.id, *_VNFCS)
            self.check_guide_output("nodes_healed", vnf, "get nodes")
            self.check_guide_output("etcd_healed", vnf, _ETCD)

        self.upgrade(vnf, self.modify, workers=3)
        with newest_series():
            self.check_guide_output_of_operations("upgraded", vnf, "MODIFY_INFO")
        self.upgrade(vnf, self.modify, workers=3)  # nothing is left to do
        self.check_hardening(vnf)
        self.check_benchmark(vnf)
        self.scale_masters_out_and_in(vnf, workers=3)
        # Nothing that comes later needs those that left, or the version before.
        self.check_versions(NEWEST)
        self.heal_vnf(vnf)
        self.check_versions(NEWEST)
        self.check_hardening(vnf)
        with newest_series():
            self.check_guide_output_of_vim()
        self.check_terminate(vnf, self.check_cnf(vnf))

    def lose(self, machine: Remote) -> None:
        """Until the cluster misses the node, too: what is predicted of the node stays true then."""
        name = self.node_name(machine)
        super().lose(machine)
        with step(f"wait until the cluster misses {name}"):
            wait.until(lambda: self.is_ready(name), lambda ready: ready is False, 300, "the loss")

    def is_ready(self, node: str) -> bool | None:
        """None while no API answers."""
        try:
            return node in self.cluster.ready_nodes()
        except Exception as error:
            log(f"API: {type(error).__name__}")
            return None

    def check_guide_output_of_instance(self, vnf: Vnf) -> None:
        words = ["vnflcm", "show", vnf.id, "-c", "VNF Instance Name", "-c", "Instantiation State"]
        guide_outputs.compare_openstack("instance_state", words, {vnf.id: "VNF-INSTANCE-ID"})

    def check_guide_output_of_resources(self, name: str, vnf: Vnf, kind: str) -> None:
        words = ["stack", "resource", "list", f"vnflcm_{vnf.id}", "-n", "2"]
        words += ["--filter", f"type={kind}"]
        for column in ("resource_name", "physical_resource_id", "resource_status"):
            words += ["-c", column]
        guide_outputs.compare_openstack(name, words, {vnf.id: "VNF-INSTANCE-ID"})

    def check_guide_output_of_vim(self) -> None:
        words = ["vim", "show", self.vim_name]
        for column in ("name", "type", "status", "auth_url"):
            words += ["-c", column]
        guide_outputs.compare_openstack("vim", words)
