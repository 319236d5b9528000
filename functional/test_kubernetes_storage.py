"""A storage server and what becomes of its volume, in a cluster whose nodes are containers."""

from pathlib import Path
from typing import Any

from functional import shared
from functional.clusters import MASTER
from functional.storage import StorageScenario
from tools.client.log import say

# One on each volume.
_EXPORTS = ("/volume/nfs/pv1", "/second/pv5")


class StorageServer(StorageScenario):
    """A server with two volumes.

    Pods that mount them need nodes with NFS in their kernel: see the full scenarios.
    """

    volumes = (*StorageScenario.volumes, "nfs-pv4", "nfs-pv5")

    def storage_request(self, flavour: str, **changes: Any) -> dict[str, Any]:
        request = super().storage_request(flavour, **changes)
        if flavour == "simple":  # the overlay's
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
        self.images = shared.registry()
        second = Path(__file__).parent / "overlays" / f"second_volume{self.api.variant}"
        package = self.package_of(overlays=[f"storage{self.api.variant}", str(second)])
        self.faults_are_refused_together(package)

        vnf = self.vnf(package)
        self.assert_completed(vnf.instantiate(self.storage_request("simple")))
        self.cluster = self.cluster_works(vnf, self.images, masters=1, workers=2)
        self.all_available()
        names = " ".join(StorageScenario.volumes)
        self.guide_shows("volumes", vnf, f"get persistentvolumes {names}")
        self.master = self.machines(vnf)[MASTER][0]

        _, server = self.server(vnf)
        for export in _EXPORTS:
            server.run(f"sudo mount -t nfs {server.address}:{export} /mnt")
            server.run(f"echo {export} | sudo tee /mnt/file && sudo umount /mnt")
        self.cluster.claim("data")
        self.exports_survive_a_reboot(vnf)
        self.heal_waits_for_its_users(vnf, pods=[], claim="data")
        _, server = self.server(vnf)
        for export in _EXPORTS:
            self.assertEqual(f"{export}\n", server.run(f"cat {export}/file"))
        say("the data of the old server are on the new one")

        if self.heals_the_whole:
            self.assert_completed(vnf.heal({}))
            self.cluster = self.cluster_works(vnf, self.images, masters=1, workers=2)
            self.all_available()
