"""The Kubernetes cluster VNF: from its package to its end."""

import subprocess
import sys
import uuid
from typing import Any

from functional import kubernetes, shared, shown, stacks, wait
from functional.clusters import MASTER, ClusterScenario
from functional.lcm import Vnf
from functional.packages import CNF_MANIFEST, cnf_csar, floating_ips
from functional.report import say, step


class LifeOfClusters(ClusterScenario):
    """Instantiate, use and terminate clusters of each flavour."""

    def test_life_of_clusters(self) -> None:
        registry = shared.registry()
        files = {**floating_ips("simple"), **shared.outside().files}
        package = self.package_of(files)
        simple = self.vnf(package)
        params = {"container_runtime": "docker", **self.registries(registry)}
        request = by_floating_ips(self.request("simple", registry, **params))
        self.assert_completed(simple.instantiate(request))
        cluster = self.cluster_works(simple, registry, masters=1, workers=2)
        master = self.machines(simple)[MASTER][0]
        self.pulls_from_registries(cluster, registry, master, "docker")
        self.vim_has_the_floating_ip(simple)
        self.vim_name_is_taken(package, request)
        self.ends(simple)

        balanced = self.vnf(package)
        self.assert_completed(balanced.instantiate(self.request("complex", registry)))
        cluster = self.cluster_works(balanced, registry, masters=3, workers=2)
        self.guide_shows("nodes", balanced, "get nodes")
        self.guide_shows_the_vim()
        cnf = self.cnf_lives_on_it(balanced, registry, cluster)
        self.api_survives_a_master(balanced, cluster)
        self.ends(balanced, cnf)

    def vim_has_the_floating_ip(self, vnf: Vnf) -> None:
        (floating,) = stacks.floating_ips(self.cloud, vnf.id, "masterNode_fip")
        self.assertEqual(f"https://{floating}:6443", self.vim(vnf).auth_url)
        say(f"SSH, and the VIM's API, by floating IPs: {floating}")

    def guide_shows_the_vim(self) -> None:
        words = ["vim", "show", f"vim-{self.name}"]
        for column in ("name", "type", "status", "auth_url"):
            words += ["-c", column]
        command = [sys.executable, "-m", "openstackclient.shell", *words]
        seen = subprocess.run(command, check=True, capture_output=True, text=True)
        shown.check("vim", f"openstack {' '.join(words)}", seen.stdout)

    def cnf_lives_on_it(self, vnf: Vnf, registry: str, cluster: kubernetes.Cluster) -> Vnf:
        """Tacker deploys pods through the VIM that it was given, and takes them away."""
        cnf = self.vnf(self.package(cnf_csar(f"{registry}/busybox:1")))
        request = {
            "flavourId": "simple",
            "additionalParams": {"lcm-kubernetes-def-files": [CNF_MANIFEST]},
            "vimConnectionInfo": [
                {"id": str(uuid.uuid4()), "vimId": self.vim(vnf).id, "vimType": "kubernetes"}
            ],
        }
        self.assert_completed(cnf.instantiate(request))
        pods = [pod.metadata.name for pod in cluster.pods("app=cnf-web")]
        say(f"pods of the CNF: {pods}")
        self.assertEqual(2, len(pods))
        self.assert_completed(cnf.terminate())
        wait.until(lambda: cluster.pods("app=cnf-web"), lambda left: not left, 60, "no pods left")
        return cnf

    def api_survives_a_master(self, vnf: Vnf, cluster: kubernetes.Cluster) -> None:
        """The master that holds the virtual IP loses its power."""
        address = self.vim(vnf).auth_url.partition("://")[2].rpartition(":")[0]
        holder = next(
            machine
            for machine in self.machines(vnf)[MASTER]
            if address in machine.run("ip -4 -o address show")
        )
        with step(f"stop {holder.address}, which holds {address}"):
            holder.run("sudo systemctl poweroff", check=False)
            holder.await_end()
            wait.until(lambda: _asks(cluster), bool, 120, "the API on the virtual IP")

    def vim_name_is_taken(self, package: Any, request: dict[str, Any]) -> None:
        vnf = self.vnf(package)
        failed = vnf.instantiate(request)
        name = request["additionalParams"]["k8s_cluster_installation_param"]["vim_name"]
        self.assert_failed(failed, f"vim_name: Tacker already has a VIM {name}")
        self.assertEqual([], stacks.of_vnf(self.cloud, vnf.id))

    def ends(self, vnf: Vnf, cnf: Vnf | None = None) -> None:
        """Terminate leaves neither VIM nor stack nor an entry in the instance.

        It is refused while the instance of a CNF, even a terminated one, has the VIM.
        """
        vim = self.vim(vnf)
        occurrence = vnf.terminate()
        if cnf:
            self.assert_failed(occurrence, vim.name, "terminate and delete them first")
            cnf.delete()
            occurrence = vnf.retry(occurrence)
        self.assert_completed(occurrence)
        self.assertNotIn(vim.id, {found["id"] for found in self.tacker.list_vims()["vims"]})
        self.assertEqual([], vnf.cluster_vims())
        self.assertNotIn("mgmtDriver", str(vnf.show()["metadata"]))
        stacks.await_end(self.cloud, vnf.id)


def by_floating_ips(request: dict[str, Any]) -> dict[str, Any]:
    """The request, with floating IPs for SSH and for the cluster's address."""
    installation = request["additionalParams"]["k8s_cluster_installation_param"]
    installation["master_node"] |= {
        "ssh_cp_name": "masterNode_fip", "cluster_fip_name": "masterNode_fip"
    }
    installation["worker_node"] |= {"ssh_cp_name": "workerNode_fip"}
    return request


def _asks(cluster: kubernetes.Cluster) -> bool:
    try:
        return bool(cluster.core.list_node(_request_timeout=5).items)
    except Exception as error:
        say(f"API: {type(error).__name__}")
        return False
