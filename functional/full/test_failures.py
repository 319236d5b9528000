"""Operations that fail: the error names the cause, and a retry continues."""

from typing import Any

from functional import kubernetes, shared
from functional.cluster_scenario import WORKER, ClusterScenario
from functional.registries import stopped_registry
from mgmt_drivers.machine.files import STATE_FOLDER
from tools.client import kubernetes_source, stacks
from tools.client.api import V2
from tools.client.kubernetes_source import missing_version
from tools.client.lcm import Vnf
from tools.client.machines import Remote


class ClusterFailures(ClusterScenario):
    """Each cause is removed as an operator would remove it."""

    def test_causes_of_failure_are_named_and_mended(self) -> None:
        registry = shared.private_registry()
        vnf = self.create_vnf(self.onboard_package())
        missing = kubernetes_source.missing_version()
        series, _, _ = missing.rpartition(".")
        request = self.request("simple", registry, kubernetes_version=missing)
        failed = vnf.instantiate(request)
        words = f"has no kubeadm {missing}", f"it has: {series}."
        self.assert_failed(failed, "install packages", *words)
        self.assertEqual("ROLLED_BACK", vnf.rollback(failed)["operationState"])
        self.assert_nothing_left(vnf, request)
        self.check_unusable_registries(registry)

        request = self.request("simple", registry)
        with stopped_registry(Remote(registry.partition(":")[0])):
            failed = vnf.instantiate(request)
        self.assert_failed(failed, "configure registries", f"{registry}: it cannot be reached")

        # Tacker shows no VNFCs of a VNF that is not instantiated yet.
        worker = self.machines_with_cp(vnf, f"{WORKER}_CP2")[0]
        # apt is not asked where nothing is missing.
        worker.run(f"sudo rm {STATE_FOLDER}/installed && sudo dpkg --remove --force-depends socat")
        worker.run("sudo mv /usr/bin/apt-get /usr/bin/apt-get.away")
        failed = vnf.retry(failed)
        self.assert_failed(failed, "install packages", worker.address, "status 127")
        worker.run("sudo mv /usr/bin/apt-get.away /usr/bin/apt-get")

        with worker.ssh_stopped():
            failed = vnf.retry(failed)
        self.assert_failed(failed, "connect", f"SSH to {worker.address}")
        self.assert_completed(vnf.retry(failed))
        self.check_cluster(vnf, registry, masters=1, workers=2)

    def check_unusable_registries(self, registry: str) -> None:
        """A wrong login, no CA, a closed port, an unknown name: the error has all of them."""
        outside = shared.outside_registry()
        vnf = self.create_vnf(self.onboard_package(outside.files))
        params = self.registry_params(registry, password="wr0ng")
        address = outside.address
        params["private_registry_connection_info"] += [
            {"connection_type": 1, "server": address},
            {"connection_type": 0, "server": f"{address}:1"},
            {"connection_type": 0, "server": "registry.invalid"},
        ]
        failed = vnf.instantiate(self.request("simple", registry, **params))
        self.assert_failed(
            failed,
            "configure registries",
            "registry.outside.test: it refuses the login of user user01",
            f"{address}: its certificate is not to be trusted",
            f"{address}:1: it cannot be reached",
            "registry.invalid: its name is not known",
        )
        detail = failed["error"]["detail"]
        self.assertEqual(3, detail.count("it refuses the login"))
        self.assertNotIn("wr0ng", detail)
        self.assertEqual("ROLLED_BACK", vnf.rollback(failed)["operationState"])

    def assert_nothing_left(self, vnf: Vnf, request: dict[str, Any]) -> None:
        name = request["additionalParams"]["k8s_cluster_installation_param"]["vim_name"]
        self.assertNotIn(name, {vim["name"] for vim in self.tacker.list_vims()["vims"]})
        stacks.await_deletion(self.cloud, vnf.id)


class RollbacksThroughV2(ClusterScenario):
    """Failed operations are rolled back, and can be repeated."""

    api = V2()

    def test_rollbacks(self) -> None:
        self.registry = shared.private_registry()
        package = self.onboard_package()
        self.check_instantiate_rollback(self.create_vnf(package))

        vnf = self.create_vnf(package)
        self.assert_completed(vnf.instantiate(self.request("simple", self.registry)))
        cluster = self.check_cluster(vnf, self.registry, masters=1, workers=2)
        self.check_scale_out_rollback(vnf, cluster)
        self.assert_completed(vnf.terminate())
        stacks.await_deletion(self.cloud, vnf.id)

    def check_instantiate_rollback(self, vnf: Vnf) -> None:
        request = self.request("simple", self.registry, kubernetes_version=missing_version())
        failed = vnf.instantiate(request)
        self.assert_failed(failed, "install packages", f"has no kubeadm {missing_version()}")
        self.assertEqual("ROLLED_BACK", vnf.rollback(failed)["operationState"])
        self.assertEqual([], vnf.cluster_vims())
        stacks.await_deletion(self.cloud, vnf.id)

    def check_scale_out_rollback(self, vnf: Vnf, cluster: kubernetes.Cluster) -> None:
        before = cluster.node_names()
        with stopped_registry(Remote(self.registry.partition(":")[0])):
            failed = vnf.scale("SCALE_OUT", "worker_instance", 1)
        self.assert_failed(failed, "configure registries", "it cannot be reached")
        self.assertEqual("ROLLED_BACK", vnf.rollback(failed)["operationState"])
        self.assertEqual(before, cluster.node_names())
        self.assertEqual(2, len(self.vnfcs(vnf, "workerNode")))
        self.assert_completed(vnf.scale("SCALE_OUT", "worker_instance", 1))
        self.check_cluster(vnf, self.registry, masters=1, workers=3)
