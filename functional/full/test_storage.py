"""A storage server with two volumes, and one that no request names."""

from pathlib import Path
from typing import Any

from functional import shared
from functional.cluster_scenario import MASTER, WORKER, ClusterScenario
from functional.requests import ask_for_address
from functional.storage_scenario import StorageScenario
from tools.client import networks
from tools.client.api import V2
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log

# One on each volume.
_EXPORTS = ("/volume/nfs/pv1", "/second/pv5")


class StorageServer(StorageScenario):
    """The nodes of its cluster need not mount NFS: for those that do see test_cluster."""

    image = CONFIG.prepared_image
    volumes = (*StorageScenario.volumes, "nfs-pv4", "nfs-pv5")

    def storage_request(self, flavour: str, **changes: Any) -> dict[str, Any]:
        request = super().storage_request(flavour, **changes)
        if flavour == "simple":  # whose overlay has a second volume
            params = request["additionalParams"]["k8s_cluster_installation_param"]
            server, manifests = params["storage_server"], params["pv_registration_params"]
            server["cinder_volume_setup_params"].append(
                {"volume_resource_id": "storage_server_second_volume", "mount_to": "/second"}
            )
            exports = server["nfs_server_setup_params"]
            exports += [{**exports[0], "export_dir": f"/second/pv{number}"} for number in (4, 5)]
            manifests.append(
                {**manifests[0], "pv_manifest_file_path": "Files/kubernetes/second.yaml"}
            )
        return request

    def test_storage_server(self) -> None:
        self.registry = shared.private_registry()
        second = Path(__file__).parents[1] / "overlays" / "second_volume"
        package = self.onboard_package(overlays=["storage", str(second)])
        self.check_faults_reported_together(package)

        vnf = self.create_vnf(package)
        self.assert_completed(vnf.instantiate(self.storage_request("simple")))
        self.cluster = self.check_cluster(vnf, self.registry, masters=1, workers=2)
        self.check_volumes_available()
        names = " ".join(StorageScenario.volumes)
        self.check_guide_output("volumes", vnf, f"get persistentvolumes {names}")
        self.master = self.machines(vnf)[MASTER][0]

        _, server = self.storage_server(vnf)
        for export in _EXPORTS:
            server.run(f"sudo mount -t nfs {server.address}:{export} /mnt")
            server.run(f"echo {export} | sudo tee /mnt/file && sudo umount /mnt")
        self.cluster.claim_volume("data")
        self.check_exports_after_reboot(vnf)
        self.check_heal_of_storage_server(vnf, pods=[], claim="data")
        _, server = self.storage_server(vnf)
        for export in _EXPORTS:
            self.assertEqual(f"{export}\n", server.run(f"cat {export}/file"))
        log("the new server has the data of the old one")

        self.assert_completed(vnf.heal({}))
        self.cluster = self.check_cluster(vnf, self.registry, masters=1, workers=2)
        self.check_volumes_available()


class LeftAlone(ClusterScenario):
    """The package has a storage server, the request neither its parameters nor its network.

    The control-plane node has the address that the request asks for.
    """

    image = CONFIG.prepared_image
    overlay = "storage"

    def test_left_alone(self) -> None:
        self.registry = shared.private_registry()
        address = networks.free_address(self.cloud, CONFIG.network)
        request = self.request("simple", self.registry)
        self.assertNotIn("storage", str(request))
        ask_for_address(request, address)
        vnf = self.create_vnf(self.onboard_package(overlays=[self.overlay]))
        self.assert_completed(vnf.instantiate(request))
        servers = self.check_left_alone(vnf, address, workers=2)

        self.assert_completed(vnf.scale("SCALE_OUT", "worker_instance", 1))
        self.check_left_alone(vnf, address, workers=3)
        worker, _ = self.vnfcs(vnf, WORKER)[0]
        self.assert_completed(vnf.heal({"vnfcInstanceId": [worker]}))
        self.assertEqual(servers, self.check_left_alone(vnf, address, workers=3))
        self.assert_completed(vnf.heal({}))
        self.check_left_alone(vnf, address, workers=3)
        self.check_terminate(vnf)

    def check_left_alone(self, vnf: Vnf, address: str, workers: int) -> list[str]:
        """The cluster is whole, and its package's storage server is there; returns its VNFC."""
        self.cluster = self.check_cluster(vnf, self.registry, masters=1, workers=workers)
        self.assertEqual([address], [found.address for found in self.machines(vnf)[MASTER]])
        self.assertEqual([], self.cluster.core.list_persistent_volume().items)
        servers = [vnfc["id"] for vnfc in vnf.vnfcs() if vnfc["vduId"] == "storage_server"]
        self.assertEqual(1, len(servers))
        return servers


class LeftAloneThroughV2(LeftAlone):
    api = V2()
    overlay = "storage_v2"
