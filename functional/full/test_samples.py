"""A package of the shape of Tacker's samples: verified, migrated, built, and made a cluster."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from openstack.exceptions import ConflictException

from functional import kubernetes, shared
from functional.cluster_scenario import MASTER, WORKER, ClusterScenario
from tools.client import kubernetes_source, stacks, wait
from tools.client.config import CONFIG
from tools.client.lcm import Package, Vnf
from tools.client.log import log, step
from tools.client.machines import Remote
from tools.client.packages import ask_csar, build_csar

_SHAPE = Path(__file__).parents[1] / "samples_package"
_SCRIPT = "Scripts/install_k8s_cluster.sh"
_OLD_SCRIPT = "Scripts/of_the_samples.sh"
# TCP ports by which Tacker and this machine reach the nodes: the samples' templates have no
# security groups, and their guide has rules added to the project's default group.
_PORTS = ((22, 22), (6443, 6443), (30000, 32767))


class SamplesPackage(ClusterScenario):
    """What is wrong is said before machines exist; what is migrated becomes a cluster."""

    def test_a_package_of_the_samples_shape(self) -> None:
        registry = shared.private_registry()
        package = self.onboard_migrated()
        self.check_refusal_of_the_old_script(package, registry)
        self.enter(self.rules_of_the_default_group())
        vnf = self.create_vnf(package)
        self.assert_completed(vnf.instantiate(self.request("simple", registry)))
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
        failed = vnf.instantiate(self.request("simple", registry, script_path=_OLD_SCRIPT))
        words = "script_path", "does not declare the drivers' contract", "tools.csar migrate"
        self.assert_failed(failed, *words)
        self.assertEqual([], stacks.stack_ids(self.cloud, vnf.id))

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
