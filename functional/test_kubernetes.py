"""The Kubernetes cluster VNF: from its package to its end, and when things go wrong."""

import tempfile
import urllib.request
import uuid
from pathlib import Path
from typing import Any

from functional import kubernetes, stacks, wait
from functional.base import Scenario
from functional.lcm import Vnf
from functional.nodes import Remote
from functional.packages import CNF_MANIFEST, cnf_csar, kubernetes_csar, private_registry_csar
from functional.report import say, step
from functional.requests import fitted

_REGISTRY = "private_registry/instantiate.json"
_MASTER, _WORKER = "masterNode", "workerNode"


class KubernetesScenario(Scenario):
    """Clusters whose images come from a private registry that is a VNF too."""

    def registry(self) -> str:
        """Host and port of a private registry VNF that holds the images of Kubernetes."""
        vnf = self.vnf(self.package(private_registry_csar()))
        self.assert_completed(vnf.instantiate(fitted(_REGISTRY, self.tacker)))
        (address,) = stacks.addresses(self.cloud, vnf.id)
        with stacks.machines(self.cloud, ["pusher"]) as (pusher,):
            kubernetes.push_images(pusher, f"{address}:5000")
        return f"{address}:5000"

    def request(self, flavour: str, registry: str, **params: Any) -> dict[str, Any]:
        source = kubernetes.source_params(f"http://{registry}")
        name = f"vim-{self.name[-40:]}"
        return fitted(
            f"kubernetes/{flavour}.json", self.tacker, **{**source, "vim_name": name, **params}
        )

    def test_life_of_clusters(self) -> None:
        registry = self.registry()
        package = self.package(kubernetes_csar())
        simple = self.vnf(package)
        request = self.request("simple", registry, container_runtime="docker")
        self.assert_completed(simple.instantiate(request))
        self.cluster_works(simple, registry, masters=1, workers=2)
        self.vim_name_is_taken(package, request)
        self.ends(simple)

        balanced = self.vnf(package)
        self.assert_completed(balanced.instantiate(self.request("complex", registry)))
        cluster = self.cluster_works(balanced, registry, masters=3, workers=2)
        self.cnf_lives_on_it(balanced, registry, cluster)
        self.api_survives_a_master(balanced, cluster)
        self.ends(balanced)

    def cluster_works(
        self, vnf: Vnf, registry: str, masters: int, workers: int
    ) -> kubernetes.Cluster:
        """Nodes and their roles, and a service that each node answers for."""
        vim = self.vim(vnf)
        self.assertEqual("ACTIVE", vim["status"])
        nodes = self.machines(vnf)
        self.assertEqual((masters, workers), (len(nodes[_MASTER]), len(nodes[_WORKER])))
        folder = Path(self.enter(tempfile.TemporaryDirectory()))
        cluster = kubernetes.Cluster.of_vim(vim["auth_url"], nodes[_MASTER][0], folder)
        ready = cluster.nodes()
        say(f"nodes: {ready}")
        self.assertEqual(masters + workers, len(ready))
        self.assertEqual(masters, sum("control-plane" in roles for roles in ready.values()))
        with (
            step("reach a service on each node"),
            cluster.web_server("web", f"{registry}/busybox:1", workers) as port,
        ):
            for machine in [*nodes[_MASTER], *nodes[_WORKER]]:
                seen = self.answers(f"http://{machine.address}:{port}/", workers)
                self.assertTrue(seen <= {n for n, roles in ready.items() if not roles})
        return cluster

    def answers(self, url: str, wanted: int) -> set[str]:
        """Names of the nodes whose pods have answered, once there are so many."""
        seen: set[str] = set()

        def ask() -> set[str]:
            try:
                seen.add(urllib.request.urlopen(url, timeout=5).read().decode().strip())
            except OSError as error:
                say(f"{url}: {error}")
            return seen

        return wait.until(ask, lambda found: len(found) == wanted, 120, f"the pods behind {url}")

    def cnf_lives_on_it(self, vnf: Vnf, registry: str, cluster: kubernetes.Cluster) -> None:
        """Tacker deploys pods through the VIM that it was given, and takes them away."""
        cnf = self.vnf(self.package(cnf_csar(f"{registry}/busybox:1")))
        request = {
            "flavourId": "simple",
            "additionalParams": {"lcm-kubernetes-def-files": [CNF_MANIFEST]},
            "vimConnectionInfo": [
                {"id": str(uuid.uuid4()), "vimId": self.vim(vnf)["id"], "vimType": "kubernetes"}
            ],
        }
        self.assert_completed(cnf.instantiate(request))
        pods = [pod.metadata.name for pod in cluster.pods("app=cnf-web")]
        say(f"pods of the CNF: {pods}")
        self.assertEqual(2, len(pods))
        self.assert_completed(cnf.terminate())
        wait.until(lambda: cluster.pods("app=cnf-web"), lambda left: not left, 60, "no pods left")

    def api_survives_a_master(self, vnf: Vnf, cluster: kubernetes.Cluster) -> None:
        """The master that holds the virtual IP loses its power."""
        address = self.vim(vnf)["auth_url"].partition("://")[2].rpartition(":")[0]
        holder = next(
            machine
            for machine in self.machines(vnf)[_MASTER]
            if address in machine.run("ip -4 -o address show")
        )
        with step(f"stop {holder.address}, which holds {address}"):
            holder.run("sudo systemctl poweroff", check=False)
            wait.until(lambda: _asks(cluster), bool, 120, "the API on the virtual IP")

    def vim_name_is_taken(self, package: Any, request: dict[str, Any]) -> None:
        vnf = self.vnf(package)
        failed = vnf.instantiate(request)
        name = request["additionalParams"]["k8s_cluster_installation_param"]["vim_name"]
        self.assert_failed(failed, f"vim_name: Tacker already has a VIM {name}")
        self.assertEqual([], stacks.of_vnf(self.cloud, vnf.id))

    def ends(self, vnf: Vnf) -> None:
        """Terminate leaves neither VIM nor stack nor an entry in the instance."""
        vim = self.vim(vnf)
        self.assert_completed(vnf.terminate())
        self.assertNotIn(vim["id"], {found["id"] for found in self.tacker.list_vims()["vims"]})
        kinds = [c["vimType"] for c in vnf.show().get("vimConnectionInfo", [])]
        self.assertNotIn("kubernetes", kinds)
        self.assertEqual([], stacks.of_vnf(self.cloud, vnf.id))

    def vim(self, vnf: Vnf) -> dict[str, Any]:
        """The VIM that the VNF's cluster is registered as."""
        connections = vnf.show()["vimConnectionInfo"]
        (ours,) = (c for c in connections if c["vimType"] == "kubernetes")
        shown: dict[str, Any] = self.tacker.show_vim(ours["vimId"])["vim"]
        self.assertEqual(shown["auth_url"], ours["accessInfo"]["authUrl"])
        return shown

    def machines(self, vnf: Vnf) -> dict[str, list[Remote]]:
        """The VNF's machines by VDU."""
        addresses = stacks.server_addresses(self.cloud, vnf.id)
        found: dict[str, list[Remote]] = {}
        for vnfc in vnf.vnfcs():
            server = vnfc["computeResource"]["resourceId"]
            found.setdefault(vnfc["vduId"], []).append(Remote(addresses[server]))
        return found


def _asks(cluster: kubernetes.Cluster) -> bool:
    try:
        return bool(cluster.core.list_node(_request_timeout=5).items)
    except Exception as error:
        say(f"API: {type(error).__name__}")
        return False
