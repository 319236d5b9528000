"""The Kubernetes cluster VNF with one master, from its instantiation to its termination."""

from typing import Any

from functional import shared
from functional.cluster_scenario import MASTER, ClusterScenario
from functional.packages import floating_ip_templates
from tools.client import kubernetes_source, stacks
from tools.client.config import CONFIG
from tools.client.lcm import Package, Vnf
from tools.client.log import log


class LifeOfASimpleCluster(ClusterScenario):
    """A cluster on a tenant network, reached by floating IPs: instantiate, use, terminate.

    Its nodes run Docker where their Kubernetes can.
    """

    def test_life_of_a_simple_cluster(self) -> None:
        registry = shared.private_registry()
        files = {**floating_ip_templates("simple"), **shared.outside_registry().files}
        package = self.onboard_package(files)
        vnf = self.create_vnf(package)
        runtime = "docker" if kubernetes_source.has_dockershim() else "containerd"
        params = {"container_runtime": runtime, **self.registry_params(registry)}
        # A floating IP needs a router between the machine's network and the external one.
        request = self.request("simple", registry, CONFIG.tenant_network, **params)
        use_floating_ips(request)
        self.assert_completed(vnf.instantiate(request))
        cluster = self.check_cluster(vnf, registry, masters=1, workers=2)
        master = self.machines(vnf)[MASTER][0]
        self.check_pulls_from_registries(cluster, registry, master, runtime)
        self.check_vim_floating_ip(vnf)
        self.check_vim_name_conflict(package, request)
        self.check_terminate(vnf)

    def check_vim_floating_ip(self, vnf: Vnf) -> None:
        floating = self.machines(vnf)[MASTER][0].address
        self.assertIn(floating, stacks.floating_ips(self.cloud, vnf.id).values())
        self.assertEqual(f"https://{floating}:6443", self.vim(vnf).auth_url)
        log(f"SSH, and the VIM's API, by floating IPs: {floating}")

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
