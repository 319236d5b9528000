"""The same stories through Tacker's v2 API (ETSI SOL003 3.3.1)."""

import hashlib
from typing import Any

from functional import (
    kubernetes,
    shared,
    test_kubernetes_affinity,
    test_kubernetes_storage,
    test_private_registry,
)
from functional.clusters import ClusterScenario
from functional.packages import CNF_MANIFEST, cnf_csar
from functional.test_kubernetes_failures import stopped_registry
from tools.client import stacks
from tools.client.api import KUBERNETES, V1, V2
from tools.client.lcm import Vnf
from tools.client.log import say, step
from tools.client.machines import Remote
from tools.client.packages import registry_image


class StorageThroughV2(test_kubernetes_storage.StorageServer):
    api = V2()
    heals_the_whole = True


class AffinityThroughV2(test_kubernetes_affinity.HardwareAwareAffinity):
    api = V2()
    heals_the_whole = True


class RegistryThroughV2(test_private_registry.RegistryLife):
    """The image comes from a web server: it is to stay out of the package."""

    api = V2()

    def image_source(self, server: Remote) -> dict[str, Any]:
        image = registry_image()
        with step(f"serve the registry's image on {server.address}"):
            server.put(image, "image.tar")
            server.run(
                "sudo systemd-run --quiet --unit=images --working-directory=/home/$USER "
                "python3 -m http.server 8000"
            )
        return {
            "image_path": None,
            "image_url": f"http://{server.address}:8000/image.tar",
            "image_sha256": hashlib.sha256(image.read_bytes()).hexdigest(),
        }


class RollbacksThroughV2(ClusterScenario):
    """What fails is rolled back; what is left has a CNF on it."""

    api = V2()

    def test_rollbacks_and_a_cnf(self) -> None:
        self.images = shared.registry()
        package = self.package_of()
        self.instantiation_is_rolled_back(self.vnf(package))

        vnf = self.vnf(package)
        self.assert_completed(vnf.instantiate(self.request("simple", self.images)))
        cluster = self.cluster_works(vnf, self.images, masters=1, workers=2)
        self.scale_out_is_rolled_back(vnf, cluster)
        self.cnf_lives_on_it(vnf, cluster)
        self.assert_completed(vnf.terminate())
        stacks.await_end(self.cloud, vnf.id)

    def instantiation_is_rolled_back(self, vnf: Vnf) -> None:
        request = self.request("simple", self.images, kubernetes_version="1.20.9")
        failed = vnf.instantiate(request)
        self.assert_failed(failed, "install Kubernetes", "has no kubeadm 1.20.9")
        self.assertEqual("ROLLED_BACK", vnf.rollback(failed)["operationState"])
        self.assertEqual([], vnf.cluster_vims())
        stacks.await_end(self.cloud, vnf.id)

    def scale_out_is_rolled_back(self, vnf: Vnf, cluster: kubernetes.Cluster) -> None:
        before = cluster.all_nodes()
        with stopped_registry(Remote(self.images.partition(":")[0])):
            failed = vnf.scale("SCALE_OUT", "worker_instance", 1)
        self.assert_failed(failed, "connect the registries", "it cannot be reached")
        self.assertEqual("ROLLED_BACK", vnf.rollback(failed)["operationState"])
        self.assertEqual(before, cluster.all_nodes())
        self.assertEqual(2, len(self.vnfcs(vnf, "workerNode")))
        self.assert_completed(vnf.scale("SCALE_OUT", "worker_instance", 1))
        self.cluster_works(vnf, self.images, masters=1, workers=3)

    def cnf_lives_on_it(self, vnf: Vnf, cluster: kubernetes.Cluster) -> None:
        """Through v2 the cluster is no VIM that Tacker could be asked for by its id."""
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
        package = self.package(cnf_csar(f"{self.images}/busybox:1"))
        # The request is v2's already.
        cnf = Vnf.create(self.tacker, package, "scenario-cnf", V1())
        self.addCleanup(cnf.remove)
        self.assert_completed(cnf.instantiate(request))
        pods = [pod.metadata.name for pod in cluster.pods("app=cnf-web")]
        say(f"pods of the CNF: {pods}")
        self.assertTrue(pods)
        self.assert_completed(cnf.terminate())
        self.assertEqual([], cluster.pods("app=cnf-web"))
