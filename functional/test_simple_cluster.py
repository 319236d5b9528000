"""What is special to the v1 API, and to clusters with one master."""

from typing import Any

from functional import guide_outputs, policies, shared
from functional.cluster_scenario import MASTER, ClusterScenario
from functional.command_line import CommandLine
from functional.packages import floating_ip_templates
from tools.client import stacks
from tools.client.config import CONFIG
from tools.client.lcm import Package, Vnf
from tools.client.log import log, step


class LifeOfASimpleCluster(ClusterScenario):
    """A cluster on a tenant network, reached by floating IPs, is a VIM that Tacker lists.

    It is made by OpenStack's command line, as the guide tells new users.
    """

    def test_life_of_a_simple_cluster(self) -> None:
        self.registry = shared.private_registry()
        library, self.tacker = self.tacker, CommandLine(self.tacker)
        package = self.onboard_package(floating_ip_templates("simple"))
        self.check_guide_output_of_package(package)
        vnf = self.create_vnf(package, "cluster")
        self.tacker = library
        # A floating IP needs a router between the machine's network and the external one.
        request = self.request("simple", self.registry, CONFIG.tenant_network)
        use_floating_ips(request)
        self.assert_completed(vnf.instantiate(request))
        self.check_guide_output_of_operations("instantiated", vnf, "INSTANTIATE")
        self.cluster = self.check_cluster(vnf, self.registry, masters=1, workers=2)
        self.check_vim_floating_ip(vnf)
        self.check_policy(vnf)
        self.check_vim_name_conflict(package, request)
        self.check_scale_of_masters_refused(vnf, "SCALE_OUT", 1)
        self.check_terminate(vnf, self.check_cnf(vnf))

    def check_guide_output_of_package(self, package: Package) -> None:
        words = ["vnf", "package", "show", package.id]
        for column in ("Onboarding State", "Operational State", "Usage State", "VNFD ID"):
            words += ["-c", column]
        guide_outputs.compare_openstack("package", words, {package.id: "VNF-PACKAGE-ID"})

    def check_vim_floating_ip(self, vnf: Vnf) -> None:
        floating = self.machines(vnf)[MASTER][0].address
        self.assertIn(floating, stacks.floating_ips(self.cloud, vnf.id).values())
        self.assertEqual(f"https://{floating}:6443", self.vim(vnf).auth_url)
        log(f"SSH, and the VIM's API, by floating IPs: {floating}")

    def check_policy(self, vnf: Vnf) -> None:
        """The add-on of the guide's request enforces network policies."""
        master = self.machines(vnf)[MASTER][0]
        with step("see a policy in force"):
            policies.start_pods(master, f"{self.registry}/busybox:1")
            policies.check(master)

    def check_vim_name_conflict(self, package: Package, request: dict[str, Any]) -> None:
        vnf = self.create_vnf(package)
        failed = vnf.instantiate(request)
        name = request["additionalParams"]["k8s_cluster_installation_param"]["vim_name"]
        self.assert_failed(failed, f"vim_name: Tacker already has a VIM {name}")
        self.assertEqual([], stacks.stack_ids(self.cloud, vnf.id))


def use_floating_ips(request: dict[str, Any]) -> None:
    """Use floating IPs in a request, for SSH and as the cluster's address."""
    installation = request["additionalParams"]["k8s_cluster_installation_param"]
    installation["master_node"] |= {
        "ssh_cp_name": "masterNode_fip", "cluster_fip_name": "masterNode_fip"
    }
    installation["worker_node"] |= {"ssh_cp_name": "workerNode_fip"}
