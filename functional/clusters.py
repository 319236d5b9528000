"""What scenarios with clusters have in common."""

import tempfile
import urllib.request
from pathlib import Path
from typing import Any

from functional import kubernetes, stacks, wait
from functional.base import Scenario
from functional.lcm import Vnf
from functional.nodes import Remote
from functional.packages import private_registry_csar
from functional.report import say, step
from functional.requests import fitted

MASTER, WORKER = "masterNode", "workerNode"


class ClusterScenario(Scenario):
    """Clusters whose images come from a private registry that is a VNF too."""

    def registry(self) -> str:
        """Host and port of a private registry VNF that holds the images of Kubernetes."""
        vnf = self.vnf(self.package(private_registry_csar()))
        request = fitted("private_registry/instantiate.json", self.tacker)
        self.assert_completed(vnf.instantiate(request))
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

    def cluster_works(
        self, vnf: Vnf, registry: str, masters: int, workers: int
    ) -> kubernetes.Cluster:
        """Nodes and their roles, and a service that each node answers for."""
        vim = self.vim(vnf)
        self.assertEqual("ACTIVE", vim["status"])
        nodes = self.machines(vnf)
        self.assertEqual((masters, workers), (len(nodes[MASTER]), len(nodes[WORKER])))
        folder = Path(self.enter(tempfile.TemporaryDirectory()))
        cluster = kubernetes.Cluster.of_vim(vim["auth_url"], nodes[MASTER][0], folder)
        ready = cluster.nodes()
        say(f"nodes: {ready}")
        self.assertEqual(masters + workers, len(ready))
        self.assertEqual(masters, sum("control-plane" in roles for roles in ready.values()))
        with (
            step("reach a service on each node"),
            cluster.web_server("web", f"{registry}/busybox:1", workers) as port,
        ):
            for machine in [*nodes[MASTER], *nodes[WORKER]]:
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
