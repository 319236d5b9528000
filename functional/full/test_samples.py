"""Packages of other shapes: Tacker's samples, migrated, and packages without a BaseHOT."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from openstack.exceptions import ConflictException

from functional import kubernetes, shared, uploads
from functional.cluster_scenario import MASTER, WORKER, ClusterScenario
from functional.packages import tosca_csar
from functional.registry_scenario import PORT, get
from functional.requests import REQUESTS
from tools.client import kubernetes_source, stacks, wait
from tools.client.config import CONFIG
from tools.client.lcm import Package, Vnf
from tools.client.log import log, step
from tools.client.machines import Remote
from tools.client.names import unique
from tools.client.packages import ask_csar, build_csar, registry_image
from tools.client.requests import load_request

_SHAPE = Path(__file__).parents[1] / "samples_package"
_SCRIPT = "Scripts/install_k8s_cluster.sh"
_OLD_SCRIPT = "Scripts/of_the_samples.sh"
# TCP ports by which Tacker and this machine reach machines without security groups: the samples'
# guide has rules added to the project's default group.
_PORTS = ((22, 22), (PORT, PORT), (6443, 6443), (30000, 32767))


class SmallCluster(ClusterScenario):
    """Clusters of one master in the project's default security group."""

    @contextlib.contextmanager
    def rules_of_the_default_group(self) -> Iterator[None]:
        """Let Tacker and users in, for a while, as the samples' guide says."""
        network, project = self.cloud.network, self.cloud.current_project_id
        group = network.find_security_group(
            "default", ignore_missing=False, project_id=project
        )
        made = []
        try:
            for first, last in _PORTS:
                with contextlib.suppress(ConflictException):  # it is there already
                    made.append(network.create_security_group_rule(
                        security_group_id=group.id, direction="ingress", ether_type="IPv4",
                        protocol="tcp", port_range_min=first, port_range_max=last,
                    ))
            yield
        finally:
            for rule in made:
                network.delete_security_group_rule(rule)

    def check_small_cluster(self, vnf: Vnf, registry: str, workers: int) -> None:
        nodes = self.machines(vnf)
        self.assertEqual((1, workers), (len(nodes[MASTER]), len(nodes[WORKER])))
        folder = Path(self.enter(tempfile.TemporaryDirectory()))
        master = nodes[MASTER][0]
        self.cluster = kubernetes.Cluster.from_vim(self.vim(vnf).auth_url, master, folder)
        ready = self.cluster.ready_nodes()
        log(f"nodes: {ready}")
        self.assertEqual(1 + workers, len(ready))
        self.check_kubeconfig_of_the_login_user(master, set(ready))
        image = f"{registry}/busybox:1"
        with (
            step("reach a service on each node"),
            self.cluster.web_server("web", image, workers) as port,
        ):
            for machine in (master, *nodes[WORKER]):
                self.await_answers(f"http://{machine.address}:{port}/", workers)

    def check_kubeconfig_of_the_login_user(self, master: Remote, nodes: set[str]) -> None:
        command = "kubectl get nodes --output name"
        seen = wait.until(
            lambda: {line.partition("/")[2] for line in master.run(command).split()},
            lambda found: found == nodes,
            30,
            "the nodes that the login user sees",
        )
        log(f"{command}, as the login user: {sorted(seen)}")
        self.assertEqual("600", master.run("stat --format %a ~/.kube/config").strip())


class SamplesPackage(SmallCluster):
    """Errors are told before machines exist, and a migrated package becomes a cluster.

    Such a package has no manifest of network policies.
    """

    def test_a_package_of_the_samples_shape(self) -> None:
        registry = shared.private_registry()
        package = self.onboard_migrated()
        self.check_refusal_of_the_old_script(package, registry)
        self.enter(self.rules_of_the_default_group())
        vnf = self.create_vnf(package)
        self.assert_completed(vnf.instantiate(self.request("simple", registry, addons=None)))
        self.check_small_cluster(vnf, registry, workers=1)
        self.assert_completed(vnf.scale("SCALE_OUT", "worker_instance", 1))
        self.check_small_cluster(vnf, registry, workers=2)
        self.check_terminate(vnf)

    def onboard_migrated(self) -> Package:
        folder = Path(self.enter(tempfile.TemporaryDirectory()))
        source, migrated = folder / "sample", folder / "migrated"
        shutil.copytree(_SHAPE, source)
        image = source / "Files/images/node.img"
        image.parent.mkdir(parents=True)
        image.write_text("not an image\n\n")
        status, found = ask_csar("verify", str(source))
        log(found)
        self.assertEqual(1, status, found)
        self.assertIn(f"{_SCRIPT}: does not declare the drivers' contract", found)
        with step("migrate the package"):
            status, told = ask_csar(
                "migrate", str(source), "-o", str(migrated), "--image", CONFIG.node_image
            )
        log(told)
        self.assertEqual(0, status, told)
        status, found = ask_csar("verify", str(migrated))
        log(found)
        self.assertEqual(0, status, found)
        files = {**kubernetes_source.repository_key(), _OLD_SCRIPT: source / _SCRIPT}
        return self.onboard_csar(build_csar(migrated, files))

    def check_refusal_of_the_old_script(self, package: Package, registry: str) -> None:
        vnf = self.create_vnf(package)
        request = self.request("simple", registry, addons=None, script_path=_OLD_SCRIPT)
        failed = vnf.instantiate(request)
        words = "script_path", "does not declare the drivers' contract", "k8s-vnf package migrate"
        self.assert_failed(failed, *words)
        self.assertEqual([], stacks.stack_ids(self.cloud, vnf.id))


class ToscaPackages(SmallCluster):
    """Packages without a BaseHOT: Tacker makes the templates, and uploads the images."""

    def test_packages_without_base_hot(self) -> None:
        registry = shared.private_registry()
        self.enter(self.rules_of_the_default_group())
        self.check_registry()
        files = kubernetes_source.repository_key()
        request = self.request("simple", registry)
        params = request["additionalParams"]["k8s_cluster_installation_param"]
        for group in ("master_node", "worker_node"):
            del params[group]["aspect_id"]  # nothing can be scaled
        vnf = self.instantiate("kubernetes", files, request)
        self.check_small_cluster(vnf, registry, workers=1)
        self.check_terminate(vnf)

    def check_registry(self) -> None:
        """A VNFD with two hooks, as the specification has it: instantiate, heal, terminate."""
        request = load_request(REQUESTS / "private_registry/instantiate.json", self.tacker)
        name = request["additionalParams"]["private_registry_installation_param"]["image_path"]
        vnf = self.instantiate("private_registry", {name: registry_image()}, request)
        self.check_registry_answers(vnf)
        (old,) = vnf.vnfcs()
        self.assert_completed(vnf.heal({"vnfcInstanceId": [old["id"]], "cause": "scenario"}))
        (new,) = vnf.vnfcs()
        servers = [vnfc["computeResource"]["resourceId"] for vnfc in (old, new)]
        self.assertNotEqual(*servers)
        self.check_registry_answers(vnf)
        self.assert_completed(vnf.terminate())
        self.assertEqual([], stacks.stack_ids(self.cloud, vnf.id))

    def check_registry_answers(self, vnf: Vnf) -> None:
        (address,) = stacks.addresses(self.cloud, vnf.id)
        self.assertEqual(200, get(f"http://{address}:{PORT}/v2/").status)

    def instantiate(self, package: str, files: Mapping[str, Path], request: dict[str, Any]) -> Vnf:
        """Instantiate a package whose machines run the nodes' image, as Tacker uploads it."""
        image = self.cloud.image.find_image(CONFIG.node_image, ignore_missing=False)
        path = CONFIG.build / f"{image.id}.img"
        self.cloud.image.download_image(image.id, output=str(path))
        name = unique("uploaded")
        algorithm = image.hash_algo.replace("sha", "sha-")  # SOL001 spells it sha-512
        data = {
            "name": name, "disk_format": image.disk_format,
            "container_format": image.container_format,
            "checksum": {"algorithm": algorithm, "hash": image.hash_value},
        }
        onboarded = self.onboard_csar(tosca_csar(package, path, data, files))
        # Tacker names the stack after the VNF: with its id, if the VNF has no name.
        vnf = self.kind.create(self.tacker, onboarded, "", self.api)
        self.vnfs.append(vnf)
        self.addCleanup(self.check_no_image, name)
        self.addCleanup(vnf.remove)
        for key in ("lcm-operation-user-data", "lcm-operation-user-data-class"):
            del request["additionalParams"][key]
        properties = uploads.own_properties(self.cloud, image.id)
        with uploads.given_properties(name, properties):
            self.assert_completed(vnf.instantiate(request))
        return vnf

    def check_no_image(self, name: str) -> None:
        """Tacker has removed what it had uploaded."""
        self.assertEqual([], uploads.named(self.cloud, name))
