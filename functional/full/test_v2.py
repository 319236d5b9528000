"""The same scenarios through Tacker's v2 API (ETSI SOL003 3.3.1)."""

import hashlib
from typing import Any

from functional import (
    kubernetes,
    shared,
    test_kubernetes_affinity,
    test_kubernetes_storage,
    test_private_registry,
)
from functional.cluster_scenario import ClusterScenario
from functional.packages import CNF_MANIFEST, cnf_csar
from functional.test_kubernetes_failures import stopped_registry
from tools.client import stacks
from tools.client.api import KUBERNETES, V1, V2
from tools.client.kubernetes_source import missing_version
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote
from tools.client.packages import registry_image


class StorageThroughV2(test_kubernetes_storage.StorageServer):
    api = V2()
    heals_whole_vnf = True


class AffinityThroughV2(test_kubernetes_affinity.HardwareAwareAffinity):
    api = V2()
    heals_whole_vnf = True


class RegistryThroughV2(test_private_registry.RegistryLife):
    """The image comes from a web server: packages for v2 do not contain it."""

    api = V2()

    def image_params(self, server: Remote) -> dict[str, Any]:
        image = registry_image()
        with step(f"serve the registry's image on {server.address}"):
            server.put(image, "image.tar")
            server.run(
                "sudo systemd-run --quiet --unit=images --working-directory=/home/$USER "
                f"python3 -m http.server {test_private_registry.IMAGE_PORT}"
            )
        return {
            "image_path": None,
            "image_url": f"http://{server.address}:{test_private_registry.IMAGE_PORT}/image.tar",
            "image_sha256": hashlib.sha256(image.read_bytes()).hexdigest(),
        }


class RollbacksThroughV2(ClusterScenario):
    """Failed operations are rolled back; a CNF runs on the cluster that remains."""

    api = V2()

    def test_rollbacks_and_a_cnf(self) -> None:
        self.registry = shared.private_registry()
        package = self.onboard_package()
        self.check_instantiate_rollback(self.create_vnf(package))

        vnf = self.create_vnf(package)
        self.assert_completed(vnf.instantiate(self.request("simple", self.registry)))
        cluster = self.check_cluster(vnf, self.registry, masters=1, workers=2)
        self.check_scale_out_rollback(vnf, cluster)
        self.check_cnf(vnf, cluster)
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

    def check_cnf(self, vnf: Vnf, cluster: kubernetes.Cluster) -> None:
        """In v2 the VIM of the cluster has no id: the request has the whole connection."""
        (vim,) = (
            vim
            for vim in vnf.show()["vimConnectionInfo"].values()
            if vim["vimType"] in KUBERNETES
        )
        authorization = cluster.core.api_client.configuration.api_key["authorization"]
        token = authorization.removeprefix("Bearer ")
        request = {
            "flavourId": "simple",
            "additionalParams": {"lcm-kubernetes-def-files": [CNF_MANIFEST]},
            "vimConnectionInfo": {"vim1": {**vim, "accessInfo": {"bearer_token": token}}},
        }
        package = self.onboard_csar(cnf_csar(f"{self.registry}/busybox:1"))
        # V1 does not translate the request, which is written for v2.
        cnf = Vnf.create(self.tacker, package, "scenario-cnf", V1())
        self.addCleanup(cnf.remove)
        self.assert_completed(cnf.instantiate(request))
        pods = [pod.metadata.name for pod in cluster.pods("app=cnf-web")]
        log(f"pods of the CNF: {pods}")
        self.assertTrue(pods)
        self.assert_completed(cnf.terminate())
        self.assertEqual([], cluster.pods("app=cnf-web"))
