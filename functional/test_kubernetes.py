"""The Kubernetes cluster VNF with one master: from its package to its end."""

from typing import Any

from functional import shared
from functional.clusters import MASTER, ClusterScenario
from functional.packages import floating_ips
from tools.client import stacks
from tools.client.lcm import Package, Vnf
from tools.client.log import say


class LifeOfASimpleCluster(ClusterScenario):
    """Instantiate, use and terminate a cluster whose nodes run Docker."""

    def test_life_of_a_simple_cluster(self) -> None:
        registry = shared.registry()
        files = {**floating_ips("simple"), **shared.outside().files}
        package = self.package_of(files)
        vnf = self.vnf(package)
        params = {"container_runtime": "docker", **self.registries(registry)}
        request = by_floating_ips(self.request("simple", registry, **params))
        self.assert_completed(vnf.instantiate(request))
        cluster = self.cluster_works(vnf, registry, masters=1, workers=2)
        master = self.machines(vnf)[MASTER][0]
        self.pulls_from_registries(cluster, registry, master, "docker")
        self.vim_has_the_floating_ip(vnf)
        self.vim_name_is_taken(package, request)
        self.ends(vnf)

    def vim_has_the_floating_ip(self, vnf: Vnf) -> None:
        (floating,) = stacks.floating_ips(self.cloud, vnf.id, "masterNode_fip")
        self.assertEqual(f"https://{floating}:6443", self.vim(vnf).auth_url)
        say(f"SSH, and the VIM's API, by floating IPs: {floating}")

    def vim_name_is_taken(self, package: Package, request: dict[str, Any]) -> None:
        vnf = self.vnf(package)
        failed = vnf.instantiate(request)
        name = request["additionalParams"]["k8s_cluster_installation_param"]["vim_name"]
        self.assert_failed(failed, f"vim_name: Tacker already has a VIM {name}")
        self.assertEqual([], stacks.of_vnf(self.cloud, vnf.id))


def by_floating_ips(request: dict[str, Any]) -> dict[str, Any]:
    """The request, with floating IPs for SSH and for the cluster's address."""
    installation = request["additionalParams"]["k8s_cluster_installation_param"]
    installation["master_node"] |= {
        "ssh_cp_name": "masterNode_fip", "cluster_fip_name": "masterNode_fip"
    }
    installation["worker_node"] |= {"ssh_cp_name": "workerNode_fip"}
    return request
