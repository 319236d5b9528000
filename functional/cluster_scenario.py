"""The bases of scenarios with clusters."""

import functools
import os
import subprocess
import sys
import tempfile
import urllib.request
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fixtures import EnvironmentVariable

from functional import guide_outputs, hardening, kubernetes, shared
from functional.dns import Resolver
from functional.packages import CNF_MANIFEST, cnf_csar
from functional.registries import pull_without_login
from functional.requests import REQUESTS
from functional.scenario import Scenario
from mgmt_drivers.machine.files import STATE_FOLDER
from tools.client import kubernetes_source, stacks, wait
from tools.client.api import KUBERNETES, V1, ClusterVim
from tools.client.config import CHECKOUT, CONFIG
from tools.client.lcm import Package, Vnf
from tools.client.log import log, step
from tools.client.machines import Remote
from tools.client.names import unique
from tools.client.packages import image_overlay, kubernetes_csar
from tools.client.requests import load_request

MASTER, WORKER = "masterNode", "workerNode"
SOFT, STRICT = "soft-anti-affinity", "anti-affinity"  # Nova's policies
# The marker of a machine that kubeadm has made a node, whose name the server's id ends.
MEMBER = f"{STATE_FOLDER}/member-*"


class ClusterScenario(Scenario):
    """Clusters whose images come from a private registry that is a VNF too.

    ``cluster`` is the one that a scenario is about, ``registry`` the host and port of the private
    registry. ``kubernetes_version``: in place of the configuration's. ``image``: of the nodes, in
    place of the package's.
    """

    cluster: kubernetes.Cluster
    registry: str
    image = ""
    kubernetes_version: str | None = None

    def setUp(self) -> None:
        super().setUp()
        self.vim_name = unique("vim")
        if self.kubernetes_version:
            name = "FUNCTIONAL_KUBERNETES_VERSION"
            self.useFixture(EnvironmentVariable(name, self.kubernetes_version))

    def request(
        self, flavour: str, registry: str, network: str | None = None, **params: Any
    ) -> dict[str, Any]:
        """A request to instantiate a cluster on a network (default: the configuration's)."""
        source = kubernetes_source.source_params(f"http://{registry}")
        path = REQUESTS / f"kubernetes/{flavour}.json"
        changes = {**source, "vim_name": self.vim_name, **params}
        return load_request(path, self.tacker, network, **changes)

    def registry_params(self, registry: str, **changes: Any) -> dict[str, Any]:
        """Parameters that name the private registry, and the registry with a login."""
        plain = {"connection_type": "0", "server": registry}
        with_login = shared.outside_registry().connection_info(**changes)
        return {"private_registry_connection_info": [plain, with_login]}

    def check_pulls_from_registries(
        self, cluster: kubernetes.Cluster, registry: str, machine: Remote, runtime: str
    ) -> None:
        """Each of two registries has an image that the other lacks: run both on every node."""
        seen = pull_without_login(machine, shared.outside_registry().image, runtime)
        log(f"without the login: {seen.strip().splitlines()[-1]}")
        self.assertRegex(seen, "401|no basic auth")
        cluster.run_on_every_node("inside", f"{registry}/busybox:1")
        cluster.run_on_every_node("outside", shared.outside_registry().image)
        self.await_pods_on_every_node(cluster, len(cluster.ready_nodes()))

    def await_pods_on_every_node(self, cluster: kubernetes.Cluster, nodes: int) -> None:
        wanted = {"inside": nodes, "outside": nodes}
        ready = cluster.ready_pods_by_daemon_set
        seen = wait.until(ready, lambda found: found == wanted, 120, "pods on every node")
        log(f"pods from each registry: {seen}")

    def check_cluster(
        self, vnf: Vnf, registry: str, masters: int, workers: int
    ) -> kubernetes.Cluster:
        """Check the nodes, their roles, and a service through each node; returns the cluster."""
        vim = self.vim(vnf)
        nodes = self.machines(vnf)
        self.assertEqual((masters, workers), (len(nodes[MASTER]), len(nodes[WORKER])))
        folder = Path(self.enter(tempfile.TemporaryDirectory()))
        cluster = kubernetes.Cluster.from_vim(vim.auth_url, nodes[MASTER][0], folder)
        ready = cluster.ready_nodes()
        show(nodes[MASTER][0])
        self.assertEqual(masters + workers, len(ready))
        self.assertEqual(masters, sum("control-plane" in roles for roles in ready.values()))
        with (
            step("reach a service on each node"),
            cluster.web_server("web", f"{registry}/busybox:1", workers) as port,
        ):
            for machine in [*nodes[MASTER], *nodes[WORKER]]:
                seen = self.await_answers(f"http://{machine.address}:{port}/", workers)
                self.assertTrue(seen <= {n for n, roles in ready.items() if not roles})
            self.check_dns(cluster, nodes[MASTER][0], f"{registry}/busybox:1")
        return cluster

    def check_dns(self, cluster: kubernetes.Cluster, master: Remote, image: str) -> None:
        """A pod on each node resolves names over UDP and TCP, and reaches pods on other nodes."""
        with step("resolve names in a pod on each node"), cluster.daemon_set("resolver", image):
            wanted = {"resolver": len(cluster.ready_nodes())}
            ready = cluster.ready_pods_by_daemon_set
            wait.until(ready, lambda seen: seen.items() >= wanted.items(), 120, "the resolvers")
            for pod in cluster.pods("app=resolver"):
                self.check_resolver(Resolver(master, pod.metadata.name), pod.spec.node_name)
        places = {pod.spec.node_name for pod in cluster.pods("k8s-app=kube-dns", "kube-system")}
        log(f"cluster DNS is on {sorted(places)}")
        self.assertLess(1, len(places))

    def check_resolver(self, resolver: Resolver, own_node: str) -> None:
        answers = wait.until(
            lambda: resolver.ask("kubernetes.default", "web.default"),
            lambda seen: all(by_udp == by_tcp != "" for by_udp, by_tcp in seen),
            60,
            f"addresses of two Services over UDP and TCP, on {own_node}",
        )
        address, _ = answers[-1]
        seen = wait.until(
            lambda: resolver.fetch(address, 8080),
            lambda node: node != own_node,
            30,
            f"an answer to {own_node} from another node",
        )
        log(f"in a pod on {own_node} web.default is {address}; {seen} answers")

    def check_guide_output(self, name: str, vnf: Vnf, words: str) -> None:
        """Compare what kubectl prints on a master with the guide."""
        master = self.machines(vnf)[MASTER][0]
        guide_outputs.compare(name, f"kubectl {words}", master.run(f"{kubernetes.KUBECTL} {words}"))

    def check_guide_output_of_operations(self, name: str, vnf: Vnf, operation: str) -> None:
        """Compare the operations of a kind that the VNF has had with the guide."""
        words = ["vnflcm", "op", "list"]
        words += ["--filter", f"(eq,vnfInstanceId,{vnf.id});(eq,operation,{operation})"]
        for column in ("ID", "Operation", "Operation State"):
            words += ["-c", column]
        guide_outputs.compare_openstack(name, words, {vnf.id: "VNF-INSTANCE-ID"})

    def await_answers(self, url: str, wanted: int) -> set[str]:
        """Wait until the pods of so many nodes have answered; returns the names of the nodes."""
        seen: set[str] = set()

        def ask() -> set[str]:
            try:
                seen.add(urllib.request.urlopen(url, timeout=5).read().decode().strip())
            except OSError as error:
                log(f"{url}: {error}")
            return seen

        return wait.until(ask, lambda found: len(found) == wanted, 120, f"the pods behind {url}")

    def onboard_package(
        self, files: Mapping[str, Path] | None = None, overlays: Sequence[str] = ()
    ) -> Package:
        """Onboard the package of the cluster for this version of the API."""
        images = [image_overlay(self.image, [MASTER, WORKER])] if self.image else []
        return self.onboard_csar(kubernetes_csar(files, [*overlays, *images], self.api.variant))

    def check_cnf(self, vnf: Vnf) -> Vnf:
        """Tacker deploys and removes the pods of a CNF through the VIM."""
        csar = cnf_csar(f"{self.registry}/busybox:1")
        cnf = self.deploy_cnf(vnf, csar, {"lcm-kubernetes-def-files": [CNF_MANIFEST]})
        self.remove_cnf(cnf)
        return cnf

    def deploy_cnf(self, vnf: Vnf, csar: Path, params: Mapping[str, Any]) -> Vnf:
        """Deploy the two pods of a CNF through the VIM; returns the CNF."""
        package = self.onboard_csar(csar)
        # V1 does not translate the request, which is written for either version.
        cnf = Vnf.create(self.tacker, package, unique("cnf"), V1())
        self.addCleanup(cnf.remove)
        request = {
            "flavourId": "simple",
            "additionalParams": params,
            "vimConnectionInfo": self.vim_connection_info(vnf),
        }
        self.assert_completed(cnf.instantiate(request))
        pods = [pod.metadata.name for pod in self.cluster.pods("app=cnf-web")]
        log(f"pods of the CNF: {pods}")
        self.assertEqual(2, len(pods))
        return cnf

    def remove_cnf(self, cnf: Vnf) -> None:
        self.assert_completed(cnf.terminate())
        self.await_pods_of_cnf(0)

    def await_pods_of_cnf(self, wanted: int) -> None:
        pods = functools.partial(self.cluster.pods, "app=cnf-web")
        wait.until(pods, lambda found: len(found) == wanted, 60, f"{wanted} pods of the CNF")

    def vim_connection_info(self, vnf: Vnf) -> Any:
        """The cluster as the VIM of a CNF: by its id, or in v2, where it has none, as a whole."""
        if self.api.version == "1":
            vim_id = self.vim(vnf).id
            return [{"id": str(uuid.uuid4()), "vimId": vim_id, "vimType": "kubernetes"}]
        (vim,) = (
            vim
            for vim in vnf.show()["vimConnectionInfo"].values()
            if vim["vimType"] in KUBERNETES
        )
        authorization = self.cluster.core.api_client.configuration.api_key["authorization"]
        token = authorization.removeprefix("Bearer ")
        return {"vim1": {**vim, "accessInfo": {"bearer_token": token}}}

    def check_scale_of_masters_refused(self, vnf: Vnf, kind: str, steps: int) -> None:
        """Tacker itself refuses, because of the VNFD's max_scale_level."""
        words = "can not scale_(in|out)|numberOfSteps"
        with self.assertRaisesRegex(Exception, words) as caught:
            vnf.scale(kind, "master_instance", steps)
        log(f"{kind} of masters by {steps} steps: {caught.exception}")

    def check_terminate(self, vnf: Vnf, cnf: Vnf | None = None) -> None:
        """Terminate leaves neither VIM nor stack nor an entry in the instance.

        It is refused while the instance of a CNF, even a terminated one, uses the VIM.
        """
        vim = self.vim(vnf)
        occurrence = vnf.terminate()
        if cnf:
            self.assert_failed(occurrence, vim.name, "terminate and delete these instances first")
            cnf.delete()
            occurrence = vnf.retry(occurrence)
        self.assert_completed(occurrence)
        self.assertNotIn(vim.id, {found["id"] for found in self.tacker.list_vims()["vims"]})
        self.assertEqual([], vnf.cluster_vims())
        self.assertNotIn("mgmtDriver", str(vnf.show()["metadata"]))
        stacks.await_deletion(self.cloud, vnf.id)

    def check_status(self, vnf: Vnf, status: int, words: str = "") -> str:
        """Returns what an operator sees of the cluster; on busy CPUs etcd may need a moment."""
        command = [sys.executable, "-m", "tools.k8s_vnf", "status", vnf.id]
        command += ["--username", CONFIG.username]
        environment = {**os.environ, "CLUSTER_PASSWORD": CONFIG.password}

        def look() -> subprocess.CompletedProcess[str]:
            ran = subprocess.run(
                command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=300
            )
            log(f"k8s-vnf status: {ran.returncode}\n{ran.stdout}{ran.stderr}")
            return ran

        return wait.until(
            look, lambda ran: ran.returncode == status and words in ran.stdout, 60,
            f"k8s-vnf status that ends with {status} and says {words!r}",
        ).stdout

    def check_versions(self, series: str) -> None:
        found = self.cluster.kubelet_versions()
        log(f"kubelets: {found}")
        self.assertEqual({f"v{series}"}, {v.rpartition(".")[0] for v in found.values()})

    def vim(self, vnf: Vnf) -> ClusterVim:
        """The VIM as which the VNF's cluster is registered."""
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

    def in_pod(self, vnf: Vnf, pod: str, command: str) -> str:
        """The output of a shell command in a pod."""
        master = self.machines(vnf)[MASTER][0]
        words = f"{kubernetes.KUBECTL} exec {pod} -- /bin/busybox sh -c '{command}'"
        return master.run(words).strip()

    def machines_with_cp(self, vnf: Vnf, cp: str) -> list[Remote]:
        """The machines that have a CP in Heat, also while the VNF is being instantiated."""
        return [Remote(a) for a in stacks.addresses_of_port(self.cloud, vnf.id, cp)]

    def vnfcs(self, vnf: Vnf, vdu: str) -> list[tuple[str, Remote]]:
        """Ids and machines of the VNFCs of a VDU."""
        addresses = stacks.server_addresses(self.cloud, vnf.id)
        return [
            (vnfc["id"], Remote(addresses[vnfc["computeResource"]["resourceId"]]))
            for vnfc in vnf.vnfcs()
            if vnfc["vduId"] == vdu
        ]

    def await_control_plane(self, vnf: Vnf) -> None:
        """Wait, while a cluster is instantiated, until kubeadm has made its first master."""
        with step(f"wait for the control plane of {vnf.name}"):
            (master, *_) = wait.until(
                lambda: self.machines_with_cp(vnf, f"{MASTER}_CP1"), bool, 300, "a master"
            )
            master.await_login()
            made = f"sudo sh -c 'ls {MEMBER}'"
            wait.until(lambda: master.run(made, check=False), bool, 300, "the control plane")

    def roll_back_processing(self, vnf: Vnf) -> None:
        """Let an instantiation be repeated that v1 shows as PROCESSING, for its conductor died."""
        failed = vnf.cancel()
        self.assertEqual("FAILED_TEMP", failed["operationState"])
        # Tacker does not know how far the operation came: it refuses a retry, and its
        # rollback does not delete the stack.
        self.assertEqual("ROLLED_BACK", vnf.rollback(failed)["operationState"])
        stacks.delete_vnf_stack(self.cloud, vnf.id)

    def node_name(self, machine: Remote) -> str:
        """The name of the node that a machine is."""
        return self.cluster.node_name_at(machine.address)


class BalancedClusterScenario(ClusterScenario):
    """One cluster of three masters and some workers, with a workload that outlasts operations.

    ``options`` are parameters of its instantiation; ``master_policy`` is that of the server group.
    """

    runtime = "containerd"
    flavour = "complex"
    options: Mapping[str, Any] = {}
    master_policy = SOFT

    def instantiate_balanced_cluster(self) -> Vnf:
        """Instantiate three masters and two workers, and run pods on them."""
        self.registry = shared.private_registry()
        package = self.onboard_package(shared.outside_registry().files)
        vnf = self.create_vnf(package)
        params = {"container_runtime": self.runtime, **self.registry_params(self.registry)}
        request = self.request(self.flavour, self.registry, **params, **self.options)
        if self.master_policy != SOFT:  # the default
            request["additionalParams"]["master_anti_affinity"] = self.master_policy
        self.assert_completed(vnf.instantiate(request))
        self.create_workload(vnf, workers=2)
        return vnf

    def check_hardening(self, vnf: Vnf) -> None:
        workers = [machine for _, machine in self.vnfcs(vnf, WORKER)]
        hardening.check(self.masters(vnf), workers, self.options.get("hardening") == "cis")

    def create_workload(self, vnf: Vnf, workers: int) -> None:
        self.cluster = self.check_cluster(vnf, self.registry, masters=3, workers=workers)
        self.vim_before = self.vim(vnf)
        master = self.machines(vnf)[MASTER][0]
        self.cluster.create_workload(f"{self.registry}/busybox:1", master)
        self.check_pulls_from_registries(self.cluster, self.registry, master, self.runtime)

    def heal(self, vnf: Vnf, vnfcs: list[str]) -> None:
        self.assert_completed(vnf.heal({"vnfcInstanceId": vnfcs}))

    def masters(self, vnf: Vnf) -> dict[str, Remote]:
        """The masters' machines by node name."""
        return {self.node_name(machine): machine for _, machine in self.vnfcs(vnf, MASTER)}

    def check_balanced_cluster(self, vnf: Vnf, workers: int, masters: int = 3) -> None:
        """Check nodes, etcd, load balancers, the VIM and the workload."""
        with step(f"check {masters} masters and {workers} workers"):
            machines = self.masters(vnf)
            names = set(machines)
            addresses = {machine.address for machine in machines.values()}
            others = {self.node_name(m) for _, m in self.vnfcs(vnf, WORKER)}
            ready = self.cluster.ready_nodes()
            self.assertEqual(names | others, set(ready))
            self.assertEqual((masters, workers), (len(names), len(others)))
            self.assertEqual(names | others, self.cluster.node_names())
            for name, master in machines.items():
                self.assertEqual(names, kubernetes.healthy_etcd_members(master, name))
                self.assertEqual(names, kubernetes.haproxy_backends(master))
                peers = kubernetes.keepalived_peers(master)
                self.assertEqual(addresses - {master.address}, peers)
            vim = self.vim(vnf)
            self.assertEqual(self.vim_before.id, vim.id)
            wait.until(self.cluster.ready_replicas, lambda seen: seen == 6, 120, "the workload")
            self.await_pods_on_every_node(self.cluster, masters + workers)
            self.check_hosts_of_masters(vnf)
        show(master)
        log(f"nodes {sorted(ready)}; etcd and HAProxy of each master have {sorted(names)}")

    def check_hosts_of_masters(self, vnf: Vnf) -> None:
        """The masters are the members of a server group, and by the strict policy have own hosts.

        By the soft policy masters that are made in parallel may share a host: the status tells it.
        """
        vnfcs = [vnfc for vnfc in vnf.vnfcs() if vnfc["vduId"] == MASTER]
        ids = {vnfc["computeResource"]["resourceId"] for vnfc in vnfcs}
        servers = [self.cloud.compute.get_server(id_) for id_ in ids]
        (group_id,) = {id_ for server in servers for id_ in server.server_groups}
        group = self.cloud.compute.get_server_group(group_id)
        self.assertEqual(self.master_policy, group.policy)
        self.assertEqual(ids, set(group.member_ids))
        taken = sorted(server.compute_host or server.host_id for server in servers)
        log(f"hosts of the masters: {taken}")
        if len(set(taken)) < len(taken):
            self.assertEqual(SOFT, self.master_policy)
            self.check_status(vnf, 0, "control-plane nodes share a compute host")


def show(master: Remote) -> None:
    """Log the nodes and pods of a cluster, as a user sees them on a master."""
    for words in ("get nodes", "get pods --all-namespaces"):
        log(master.run(f"{kubernetes.KUBECTL} {words} --output wide"))
