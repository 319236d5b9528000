"""What scenarios with a storage server have in common."""

from typing import Any

from functional import stacks, wait
from functional.clusters import ClusterScenario
from functional.config import CONFIG
from functional.kubernetes import KUBECTL
from functional.lcm import Package, Vnf
from functional.nodes import Remote
from functional.report import say, step

# Of Tacker: the volume is not replaced together with its server.
_KEEP_VOLUME = {"tacker_extension_heal_include_block_storage": False}


class StorageScenario(ClusterScenario):
    """A cluster whose PersistentVolumes, ``volumes``, lie on a storage server of its own."""

    volumes: tuple[str, ...] = ("nfs-pv1", "nfs-pv2", "nfs-pv3")
    images: str
    master: Remote

    def storage_request(self, flavour: str, **changes: Any) -> dict[str, Any]:
        """A request for the flavour; ``changes`` are those of the storage server's parameters."""
        request = self.request("complex_storage", self.images)
        request["flavourId"] = flavour
        if flavour == "simple":
            params = request["additionalParams"]["k8s_cluster_installation_param"]
            params["master_node"]["cluster_cp_name"] = "masterNode_CP1"
        params = request["additionalParams"]["k8s_cluster_installation_param"]
        for export in params["storage_server"]["nfs_server_setup_params"]:
            export["export_to"] = CONFIG.network_cidr
        params["storage_server"].update(changes)
        return request

    def faults_are_refused_together(self, package: Package) -> None:
        vnf = self.vnf(package)
        request = self.storage_request(
            "complex",
            cinder_volume_setup_params=[
                {"volume_resource_id": "none", "mount_to": "/volume"},
                {"volume_resource_id": "storage_server_volume", "mount_to": "/other/../etc"},
            ],
            nfs_server_setup_params=[{"export_dir": "/volume/a", "export_to": "everybody"}],
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
            "export_to: must be an IPv4 network",
            "the VNF package has no file none.yaml",
            "holds something else than PersistentVolumes",
            "nfs_server_cp: the VNF package has no CP CP9",
        )
        self.assertEqual([], stacks.of_vnf(self.cloud, vnf.id))

    def all_available(self) -> None:
        self.assertEqual(dict.fromkeys(self.volumes, "Available"), self.phases())

    def server(self, vnf: Vnf) -> tuple[str, Remote]:
        """The storage server: its VNFC's id, and its machine."""
        (found,) = self.vnfcs(vnf, "storage_server")
        return found

    def exports_survive_a_reboot(self, vnf: Vnf) -> None:
        _, server = self.server(vnf)
        before = server.run("cat /proc/sys/kernel/random/boot_id")
        exports = server.run("sudo exportfs -s")
        say(f"exports: {exports}")
        with step("reboot the storage server"):
            server.run("sudo systemctl reboot", check=False)
            server.await_reboot(before)
            wait.until(
                lambda: server.run("sudo exportfs -s"), lambda seen: seen == exports, 60, "exports"
            )

    def heal_waits_for_its_users(self, vnf: Vnf, pods: list[str], claim: str) -> None:
        """Refused while a claim has a volume, and while that is released; done afterwards."""
        vnfc, _ = self.server(vnf)
        failed = vnf.heal({"vnfcInstanceId": [vnfc], "additionalParams": _KEEP_VOLUME})
        users = ", ".join(f"default/{pod}" for pod in pods) or "none"
        words = f"is Bound, claim: default/{claim}, pods: {users}"
        self.assert_failed(failed, "nothing was changed", words)

        # Once its users are gone the same operation goes on.
        (bound,) = (name for name, phase in self.phases().items() if phase == "Bound")
        if pods:
            self.master.run(f"{KUBECTL} delete pod {' '.join(pods)}")
        self.master.run(f"{KUBECTL} delete persistentvolumeclaim {claim}")
        failed = vnf.retry(failed)
        self.assert_failed(failed, f"{bound} is Released, claim: default/{claim}, pods: none")
        self.master.run(f"{KUBECTL} delete persistentvolume {bound}")
        self.master.run(f"{KUBECTL} apply -f - <<'END'\n{_THEIRS}END")
        theirs = self.cluster.volumes()["theirs"]
        self.assert_completed(vnf.retry(failed))
        self.assertEqual(theirs, self.cluster.volumes()["theirs"])
        self.master.run(f"{KUBECTL} delete persistentvolume theirs")
        self.all_available()

    def phases(self) -> dict[str, str]:
        return {name: phase for name, (phase, _) in self.cluster.volumes().items()}


_THEIRS = """
apiVersion: v1
kind: PersistentVolume
metadata:
  name: theirs
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: theirs
  hostPath: {path: /tmp}
"""
