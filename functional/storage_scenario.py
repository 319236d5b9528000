"""The base of scenarios with a storage server."""

from typing import Any

from functional.cluster_scenario import WORKER, ClusterScenario
from functional.kubernetes import KUBECTL
from tools.client import networks, stacks, wait
from tools.client.config import CONFIG
from tools.client.lcm import Package, Vnf
from tools.client.log import log, step
from tools.client.machines import Remote

# A parameter of Tacker: the volume is not replaced together with its server.
KEEP_VOLUME = {"tacker_extension_heal_include_block_storage": False}


class StorageScenario(ClusterScenario):
    """A cluster whose PersistentVolumes, ``volumes``, are exported by a storage server."""

    volumes: tuple[str, ...] = ("nfs-pv1", "nfs-pv2", "nfs-pv3")
    master: Remote

    def storage_request(self, flavour: str, **changes: Any) -> dict[str, Any]:
        """A request for the flavour; ``changes`` replace parameters of the storage server."""
        request = self.request("complex_storage", self.registry)
        request["flavourId"] = flavour
        if flavour == "simple":
            params = request["additionalParams"]["k8s_cluster_installation_param"]
            params["master_node"]["cluster_cp_name"] = "masterNode_CP1"
        params = request["additionalParams"]["k8s_cluster_installation_param"]
        for export in params["storage_server"]["nfs_server_setup_params"]:
            export["export_to"] = networks.cidr(self.cloud, CONFIG.network)
        params["storage_server"].update(changes)
        return request

    def check_faults_reported_together(self, package: Package) -> None:
        vnf = self.create_vnf(package)
        request = self.storage_request(
            "complex",
            cinder_volume_setup_params=[
                {"volume_resource_id": "none", "mount_to": "/volume"},
                {"volume_resource_id": "storage_server_volume", "mount_to": "other"},
            ],
            nfs_server_setup_params=[
                {"export_dir": "/volume/a", "export_to": "everybody"},
                {"export_dir": "/elsewhere", "export_to": "10.10.0.0"},
            ],
        )
        params = request["additionalParams"]["k8s_cluster_installation_param"]
        params["pv_registration_params"] = [
            {"pv_manifest_file_path": "none.yaml", "nfs_server_cp": "storage_server_CP"},
            {"pv_manifest_file_path": "TOSCA-Metadata/TOSCA.meta", "nfs_server_cp": "CP9"},
        ]
        self.assert_failed(
            vnf.instantiate(request),
            "volume_resource_id: the VNF package has no Cinder volume none",
            "mount_to: must be an absolute path",
            "nfs_server_setup_params[0].export_to: must be an IPv4 network",
            "nfs_server_setup_params[1].export_dir: is not below the mount point of a volume",
            "nfs_server_setup_params[1].export_to: must be an IPv4 network",
            "the VNF package has no file none.yaml",
            "pv_manifest_file_path: is not a file of Kubernetes objects in YAML",
            "nfs_server_cp: the VNF package has no storage server's CP CP9",
        )
        self.assertEqual([], stacks.stack_ids(self.cloud, vnf.id))

    def check_volumes_available(self) -> None:
        self.assertEqual(dict.fromkeys(self.volumes, "Available"), self.volume_phases())

    def storage_server(self, vnf: Vnf) -> tuple[str, Remote]:
        """The storage server: its VNFC's id, and its machine."""
        (found,) = self.vnfcs(vnf, "storage_server")
        return found

    def check_exports_after_reboot(self, vnf: Vnf) -> None:
        _, server = self.storage_server(vnf)
        exports = server.run("sudo exportfs -s")
        log(f"exports: {exports}")
        with step("reboot the storage server"):
            server.reboot()
            wait.until(
                lambda: server.run("sudo exportfs -s"), lambda seen: seen == exports, 60, "exports"
            )

    def check_shared_volume(self, vnf: Vnf) -> None:
        self.cluster.claim_volume("data")
        for number, (_, machine) in enumerate(self.vnfcs(vnf, WORKER)):
            self.run_pod(machine, f"pod{number}")
            self.in_pod(vnf, f"pod{number}", f"echo from pod{number} >/data/pod{number}")
        for writer, reader in (("pod0", "pod1"), ("pod1", "pod0")):
            self.assertEqual(f"from {writer}", self.in_pod(vnf, reader, f"cat /data/{writer}"))
        log(f"two pods on two nodes write to and read from one volume: {self.volume_phases()}")

    def run_pod(self, machine: Remote, name: str) -> None:
        node = self.node_name(machine)
        with step(f"run {name} on {node}, which mounts the volume"):
            self.cluster.run_with_claim(name, f"{self.registry}/busybox:1", node, "data")
            wait.until(lambda: self.cluster.is_running(name), bool, 120, f"pod {name}")

    def release_shared_volume(self) -> None:
        """Delete the pods that share the volume, its claim, and the PersistentVolume."""
        (bound,) = (name for name, phase in self.volume_phases().items() if phase == "Bound")
        self.master.run(f"{KUBECTL} delete pod --selector claim=data")
        self.master.run(f"{KUBECTL} delete persistentvolumeclaim data")
        self.master.run(f"{KUBECTL} delete persistentvolume {bound}")

    def check_heal_of_storage_server(self, vnf: Vnf, pods: list[str], claim: str) -> None:
        """The heal is refused while a volume on the server is Bound or Released.

        This includes a volume that an operator registered. Volumes elsewhere do not matter.
        """
        vnfc, server = self.storage_server(vnf)
        self.master.run(
            f"{KUBECTL} apply -f - <<'END'\n{_MANUAL_VOLUME.format(server=server.address)}END"
        )
        wait.until(lambda: self.volume_phases()["by-hand"], "Bound".__eq__, 60, "its claim")
        failed = vnf.heal({"vnfcInstanceId": [vnfc], "additionalParams": KEEP_VOLUME})
        users = ", ".join(f"default/{pod}" for pod in pods) or "none"
        words = f"is Bound, claim: default/{claim}, pods: {users}"
        by_hand = "by-hand is Bound, claim: default/by-hand, pods: none"
        self.assert_failed(failed, "nothing was changed", words, by_hand)
        self.master.run(f"{KUBECTL} delete persistentvolumeclaim,persistentvolume by-hand")

        # Without users the retry of the same operation continues.
        (bound,) = (name for name, phase in self.volume_phases().items() if phase == "Bound")
        if pods:
            self.master.run(f"{KUBECTL} delete pod {' '.join(pods)}")
        self.master.run(f"{KUBECTL} delete persistentvolumeclaim {claim}")
        failed = vnf.retry(failed)
        self.assert_failed(failed, f"{bound} is Released, claim: default/{claim}, pods: none")
        self.master.run(f"{KUBECTL} delete persistentvolume {bound}")
        self.master.run(f"{KUBECTL} apply -f - <<'END'\n{_UNRELATED_VOLUME}END")
        _, unrelated = self.cluster.volumes()["unrelated"]
        self.assert_completed(vnf.retry(failed))
        self.assertEqual(unrelated, self.cluster.volumes()["unrelated"][1])
        self.master.run(f"{KUBECTL} delete persistentvolume unrelated")
        self.check_volumes_available()

    def volume_phases(self) -> dict[str, str]:
        return {name: phase for name, (phase, _) in self.cluster.volumes().items()}


_MANUAL_VOLUME = """
apiVersion: v1
kind: PersistentVolume
metadata:
  name: by-hand
spec:
  capacity: {{storage: 1Gi}}
  accessModes: [ReadWriteMany]
  storageClassName: by-hand
  nfs: {{server: {server}, path: /volume/nfs/pv1}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: by-hand
spec:
  accessModes: [ReadWriteMany]
  storageClassName: by-hand
  resources: {{requests: {{storage: 1Gi}}}}
"""
_UNRELATED_VOLUME = """
apiVersion: v1
kind: PersistentVolume
metadata:
  name: unrelated
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: unrelated
  hostPath: {path: /tmp}
"""
