"""A storage server with two volumes, and pods that mount volumes."""

from pathlib import Path
from typing import Any

from functional import shared
from functional.cluster_scenario import MASTER, WORKER
from functional.kubernetes import KUBECTL
from functional.packages import image_overlay
from functional.storage_scenario import StorageScenario
from tools.client import wait
from tools.client.api import V2
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote

# One on each volume.
_EXPORTS = ("/volume/nfs/pv1", "/second/pv5")


class StorageServer(StorageScenario):
    """The nodes of its cluster need not mount NFS."""

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
        second = Path(__file__).parents[1] / "overlays" / f"second_volume{self.api.variant}"
        package = self.onboard_package(overlays=[f"storage{self.api.variant}", str(second)])
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

        if self.heals_whole_vnf:
            self.assert_completed(vnf.heal({}))
            self.cluster = self.check_cluster(vnf, self.registry, masters=1, workers=2)
            self.check_volumes_available()


class StorageThroughV2(StorageServer):
    api = V2()
    heals_whole_vnf = True


class PodsWithStorage(StorageScenario):
    """Pods on nodes that can mount NFS share a volume; the server and the cluster are healed."""

    def test_pods_with_storage(self) -> None:
        self.registry = shared.private_registry()
        # Containers mount NFS only where the host's kernel does.
        workers = image_overlay(CONFIG.vm_image, [WORKER])
        overlays = [f"storage{self.api.variant}", workers]
        vnf = self.create_vnf(self.onboard_package(overlays=overlays))
        self.assert_completed(vnf.instantiate(self.storage_request("complex")))
        self.cluster = self.check_cluster(vnf, self.registry, masters=3, workers=2)
        self.check_volumes_available()
        self.master = self.machines(vnf)[MASTER][0]

        self.check_shared_volume(vnf)
        self.check_volume_on_new_worker(vnf)
        self.assert_completed(vnf.scale("SCALE_IN", "worker_instance", 1))
        self.check_exports_after_reboot(vnf)
        pods = sorted(pod.metadata.name for pod in self.cluster.pods("claim=data"))
        self.assertEqual(2, len(pods))
        for pod in pods:
            self.assertEqual("from pod0", self.run_in_pod(pod, "cat /data/pod0"))
        self.check_heal_of_storage_server(vnf, pods=pods, claim="data")
        self.check_data_after_heal(vnf)

        self.assert_completed(vnf.heal({}))
        self.cluster = self.check_cluster(vnf, self.registry, masters=3, workers=2)
        self.check_volumes_available()

    def check_shared_volume(self, vnf: Vnf) -> None:
        self.cluster.claim_volume("data")
        for number, (_, machine) in enumerate(self.vnfcs(vnf, WORKER)):
            self.run_pod(machine, f"pod{number}")
            self.run_in_pod(f"pod{number}", f"echo from pod{number} >/data/pod{number}")
        for writer, reader in (("pod0", "pod1"), ("pod1", "pod0")):
            self.assertEqual(f"from {writer}", self.run_in_pod(reader, f"cat /data/{writer}"))
        log(f"two pods on two nodes write to and read from one volume: {self.volume_phases()}")

    def check_volume_on_new_worker(self, vnf: Vnf) -> None:
        before = {vnfc for vnfc, _ in self.vnfcs(vnf, WORKER)}
        self.assert_completed(vnf.scale("SCALE_OUT", "worker_instance", 1))
        (machine,) = (m for vnfc, m in self.vnfcs(vnf, WORKER) if vnfc not in before)
        self.run_pod(machine, "pod2")
        self.assertEqual("from pod0", self.run_in_pod("pod2", "cat /data/pod0"))

    def check_data_after_heal(self, vnf: Vnf) -> None:
        _, server = self.storage_server(vnf)
        self.assertEqual("from pod0\n", server.run("cat /volume/nfs/pv*/pod0"))
        (_, machine), *_ = self.vnfcs(vnf, WORKER)
        self.cluster.claim_volume("again")
        self.run_pod(machine, "pod3", claim="again")
        self.run_in_pod("pod3", "echo new >/data/pod3")
        log(f"the new server has the data; a claim is bound: {self.volume_phases()}")

    def run_pod(self, machine: Remote, name: str, claim: str = "data") -> None:
        node = self.node_name(machine)
        with step(f"run {name} on {node}, which mounts the volume"):
            self.cluster.run_with_claim(name, f"{self.registry}/busybox:1", node, claim)
            wait.until(lambda: self.cluster.is_running(name), bool, 120, f"pod {name}")

    def run_in_pod(self, pod: str, command: str) -> str:
        """Run a shell command in a pod; returns its output."""
        words = f"{KUBECTL} exec {pod} -- /bin/busybox sh -c '{command}'"
        return self.master.run(words).strip()
