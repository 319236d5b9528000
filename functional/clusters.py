"""What scenarios with clusters have in common."""

import tempfile
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from functional import guide_outputs, kubernetes, shared
from functional.base import Scenario
from functional.registries import pull_without_login
from functional.requests import REQUESTS
from tools.client import kubernetes_source, stacks, wait
from tools.client.api import ClusterVim
from tools.client.lcm import Package, Vnf
from tools.client.log import say, step
from tools.client.machines import Remote
from tools.client.packages import kubernetes_csar
from tools.client.requests import load_request

MASTER, WORKER = "masterNode", "workerNode"


class ClusterScenario(Scenario):
    """Clusters whose images come from a private registry that is a VNF too.

    ``cluster`` is the one that a scenario is about. ``heals_the_whole`` tells whether the story
    ends with that, which takes minutes.
    """

    cluster: kubernetes.Cluster
    heals_the_whole = False

    def request(self, flavour: str, registry: str, **params: Any) -> dict[str, Any]:
        source = kubernetes_source.source_params(f"http://{registry}")
        name = f"vim-{self.name[-40:]}"
        path = REQUESTS / f"kubernetes/{flavour}.json"
        return load_request(path, self.tacker, **{**source, "vim_name": name, **params})

    def registries(self, registry: str, **changes: Any) -> dict[str, Any]:
        """Parameters that name the private registry, and one outside of Tacker with login."""
        plain = {"connection_type": "0", "server": registry}
        return {
            "private_registry_connection_info": [plain, shared.outside().connection_info(**changes)]
        }

    def pulls_from_registries(
        self, cluster: kubernetes.Cluster, registry: str, machine: Remote, runtime: str
    ) -> None:
        """Pods on every node, whose images are nowhere but in one registry each."""
        seen = pull_without_login(machine, shared.outside().image, runtime)
        say(f"without the login: {seen.strip().splitlines()[-1]}")
        self.assertRegex(seen, "401|no basic auth")
        cluster.run_everywhere("inside", f"{registry}/busybox:1")
        cluster.run_everywhere("outside", shared.outside().image)
        self.runs_everywhere(cluster, len(cluster.nodes()))

    def runs_everywhere(self, cluster: kubernetes.Cluster, nodes: int) -> None:
        wanted = {"inside": nodes, "outside": nodes}
        seen = wait.until(
            cluster.running_everywhere, lambda found: found == wanted, 120, "pods on every node"
        )
        say(f"pods from each registry: {seen}")

    def cluster_works(
        self, vnf: Vnf, registry: str, masters: int, workers: int
    ) -> kubernetes.Cluster:
        """Nodes and their roles, and a service that each node answers for."""
        vim = self.vim(vnf)
        nodes = self.machines(vnf)
        self.assertEqual((masters, workers), (len(nodes[MASTER]), len(nodes[WORKER])))
        folder = Path(self.enter(tempfile.TemporaryDirectory()))
        cluster = kubernetes.Cluster.of_vim(vim.auth_url, nodes[MASTER][0], folder)
        ready = cluster.nodes()
        say(nodes[MASTER][0].run(f"{kubernetes.KUBECTL} get nodes --output wide"))
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

    def guide_shows(self, name: str, vnf: Vnf, words: str) -> None:
        """What kubectl answers to these words, on a master."""
        master = self.machines(vnf)[MASTER][0]
        guide_outputs.check(name, f"kubectl {words}", master.run(f"{kubernetes.KUBECTL} {words}"))

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

    def package_of(
        self, files: Mapping[str, Path] | None = None, overlays: Sequence[str] = ()
    ) -> Package:
        """The package of the cluster, as the API takes it."""
        return self.package(kubernetes_csar(files, overlays, self.api.variant))

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

    def vim(self, vnf: Vnf) -> ClusterVim:
        """The VIM that the VNF's cluster is registered as."""
        (found,) = vnf.cluster_vims()
        return found

    def machines(self, vnf: Vnf) -> dict[str, list[Remote]]:
        """The VNF's machines by VDU."""
        addresses = stacks.server_addresses(self.cloud, vnf.id)
        found: dict[str, list[Remote]] = {}
        for vnfc in vnf.vnfcs():
            server = vnfc["computeResource"]["resourceId"]
            found.setdefault(vnfc["vduId"], []).append(Remote(addresses[server]))
        return found

    def reached_by(self, vnf: Vnf, cp: str) -> list[Remote]:
        """The machines that have a CP, as Heat knows them, also while they are made."""
        return [Remote(a) for a in stacks.addresses_of_port(self.cloud, vnf.id, cp)]

    def vnfcs(self, vnf: Vnf, vdu: str) -> list[tuple[str, Remote]]:
        """Ids and machines of the VNFCs of a VDU."""
        addresses = stacks.server_addresses(self.cloud, vnf.id)
        return [
            (vnfc["id"], Remote(addresses[vnfc["computeResource"]["resourceId"]]))
            for vnfc in vnf.vnfcs()
            if vnfc["vduId"] == vdu
        ]

    def node_of(self, machine: Remote) -> str:
        """The name of the node at an address."""
        return self.cluster.node_at(machine.address)


class BalancedClusterScenario(ClusterScenario):
    """One cluster of three masters and some workers, with a workload, looked at again and again."""

    runtime = "containerd"

    def balanced_cluster(self) -> Vnf:
        """Three masters, two workers, and pods on them."""
        self.images = shared.registry()
        vnf = self.vnf(self.package_of(shared.outside().files))
        params = {"container_runtime": self.runtime, **self.registries(self.images)}
        self.assert_completed(vnf.instantiate(self.request("complex", self.images, **params)))
        self.make_workload(vnf, workers=2)
        return vnf

    def make_workload(self, vnf: Vnf, workers: int) -> None:
        self.cluster = self.cluster_works(vnf, self.images, masters=3, workers=workers)
        self.vim_before = self.vim(vnf)
        master = self.machines(vnf)[MASTER][0]
        self.cluster.make_workload(f"{self.images}/busybox:1", master)
        self.pulls_from_registries(self.cluster, self.images, master, self.runtime)

    def heal(self, vnf: Vnf, vnfcs: list[str]) -> None:
        self.assert_completed(vnf.heal({"vnfcInstanceId": vnfcs}))

    def all_is_well(self, vnf: Vnf, workers: int) -> None:
        """Nodes, etcd, load balancers, the VIM and the workload are as they should be."""
        with step(f"look at 3 masters and {workers} workers"):
            masters = {self.node_of(m): m for _, m in self.vnfcs(vnf, MASTER)}
            names = set(masters)
            others = {self.node_of(m) for _, m in self.vnfcs(vnf, WORKER)}
            ready = self.cluster.nodes()
            self.assertEqual(names | others, set(ready))
            self.assertEqual((3, workers), (len(names), len(others)))
            self.assertEqual(names | others, self.cluster.all_nodes())
            for name, master in masters.items():
                self.assertEqual(names, kubernetes.healthy_etcd_members(master, name))
                self.assertEqual(names, kubernetes.balanced(master))
            vim = self.vim(vnf)
            self.assertEqual(self.vim_before.id, vim.id)
            wait.until(self.cluster.replicas, lambda seen: seen == 6, 120, "the workload")
            self.runs_everywhere(self.cluster, 3 + workers)
        say(f"nodes {sorted(ready)}; etcd and HAProxy of each master know {sorted(names)}")
