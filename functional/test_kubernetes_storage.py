"""A storage server: its volume as PersistentVolumes, through all that happens to machines."""

from typing import Any

from functional import kubernetes, shared, stacks, wait
from functional.clusters import MASTER, WORKER, ClusterScenario
from functional.config import CONFIG
from functional.lcm import Package, Vnf
from functional.nodes import Remote
from functional.packages import workers_with_volumes
from functional.report import say, step
from functional.requests import fitted

_STORAGE = "storage_server"
_VOLUMES = {"nfs-pv1", "nfs-pv2", "nfs-pv3"}
_KUBECTL = "sudo kubectl --kubeconfig /etc/kubernetes/admin.conf"
# Of Tacker: the volume is not replaced together with its server.
_KEEP_VOLUME = {"tacker_extension_heal_include_block_storage": False}


class StorageOfClusters(ClusterScenario):
    """Pods on several nodes share a volume; the server and the cluster are healed."""

    def test_storage(self) -> None:
        self.images = shared.registry()
        package = self.package_of(overlays=[f"storage{self.api.variant}", workers_with_volumes()])
        self.faults_are_refused_together(package)

        vnf = self.vnf(package)
        self.assert_completed(vnf.instantiate(self.storage_request()))
        self.cluster = self.cluster_works(vnf, self.images, masters=3, workers=2)
        self.assertEqual(dict.fromkeys(_VOLUMES, "Available"), self.phases())
        self.master = self.machines(vnf)[MASTER][0]

        self.pods_share_a_volume(vnf)
        self.a_new_worker_mounts_it(vnf)
        self.exports_survive_a_reboot(vnf)
        self.heal_of_a_server_in_use_is_refused(vnf)
        self.heal_keeps_the_data(vnf)
        self.heal_of_everything(vnf)

    def storage_request(self, **changes: Any) -> dict[str, Any]:
        request = fitted(
            "kubernetes/complex_storage.json",
            self.tacker,
            **kubernetes.source_params(f"http://{self.images}"),
            vim_name=f"vim-{self.name[-40:]}",
        )
        params = request["additionalParams"]["k8s_cluster_installation_param"]
        for export in params["storage_server"]["nfs_server_setup_params"]:
            export["export_to"] = CONFIG.network_cidr
        params["storage_server"].update(changes)
        return request

    def faults_are_refused_together(self, package: Package) -> None:
        vnf = self.vnf(package)
        request = self.storage_request(
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

    def pods_share_a_volume(self, vnf: Vnf) -> None:
        self.cluster.claim("data")
        for number, (_, machine) in enumerate(self.vnfcs(vnf, WORKER)):
            self.run_on(machine, f"pod{number}")
            self.inside(f"pod{number}", f"echo from pod{number} >/data/pod{number}")
        for writer, reader in (("pod0", "pod1"), ("pod1", "pod0")):
            self.assertEqual(f"from {writer}", self.inside(reader, f"cat /data/{writer}"))
        say(f"two pods on two nodes write and read one volume: {self.phases()}")

    def a_new_worker_mounts_it(self, vnf: Vnf) -> None:
        before = {vnfc for vnfc, _ in self.vnfcs(vnf, WORKER)}
        self.assert_completed(vnf.scale("SCALE_OUT", "worker_instance", 1))
        (machine,) = (m for vnfc, m in self.vnfcs(vnf, WORKER) if vnfc not in before)
        self.run_on(machine, "pod2")
        self.assertEqual("from pod0", self.inside("pod2", "cat /data/pod0"))

    def exports_survive_a_reboot(self, vnf: Vnf) -> None:
        ((_, server),) = self.vnfcs(vnf, _STORAGE)
        before = server.run("cat /proc/sys/kernel/random/boot_id")
        exports = server.run("sudo exportfs -s")
        with step("reboot the storage server"):
            server.run("sudo systemctl reboot", check=False)
            server.await_reboot(before)
            wait.until(
                lambda: server.run("sudo exportfs -s"), lambda seen: seen == exports, 60, "exports"
            )
        self.assertEqual("from pod0", self.inside("pod1", "cat /data/pod0"))

    def heal_of_a_server_in_use_is_refused(self, vnf: Vnf) -> None:
        ((vnfc, _),) = self.vnfcs(vnf, _STORAGE)
        failed = vnf.heal({"vnfcInstanceId": [vnfc], "additionalParams": _KEEP_VOLUME})
        self.assert_failed(
            failed,
            "nothing was changed",
            "is Bound, claim: default/data, pods: default/pod0, default/pod1, default/pod2",
        )
        self.assertEqual("from pod0", self.inside("pod1", "cat /data/pod0"))

        # Once its users are gone the same operation goes on.
        (bound,) = (name for name, phase in self.phases().items() if phase == "Bound")
        self.master.run(f"{_KUBECTL} delete pod pod0 pod1 pod2")
        self.master.run(f"{_KUBECTL} delete persistentvolumeclaim data")
        failed = vnf.retry(failed)
        self.assert_failed(failed, f"{bound} is Released, claim: default/data, pods: none")
        self.master.run(f"{_KUBECTL} delete persistentvolume {bound}")
        self.master.run(f"{_KUBECTL} apply -f - <<'END'\n{_THEIRS}END")
        theirs = self.cluster.volumes()["theirs"]
        self.assert_completed(vnf.retry(failed))
        self.assertEqual(theirs, self.cluster.volumes()["theirs"])
        self.master.run(f"{_KUBECTL} delete persistentvolume theirs")
        self.assertEqual(dict.fromkeys(_VOLUMES, "Available"), self.phases())

    def heal_keeps_the_data(self, vnf: Vnf) -> None:
        ((_, server),) = self.vnfcs(vnf, _STORAGE)
        self.assertEqual("from pod0\n", server.run("cat /volume/nfs/pv*/pod0"))
        (_, machine), *_ = self.vnfcs(vnf, WORKER)
        self.cluster.claim("again")
        self.run_on(machine, "pod3", claim="again")
        self.inside("pod3", "echo new >/data/pod3")
        say(f"the data of the old server is on the new one; a claim is bound: {self.phases()}")

    def heal_of_everything(self, vnf: Vnf) -> None:
        self.assert_completed(vnf.heal({}))
        self.cluster = self.cluster_works(vnf, self.images, masters=3, workers=3)
        self.assertEqual(dict.fromkeys(_VOLUMES, "Available"), self.phases())

    def phases(self) -> dict[str, str]:
        return {name: phase for name, (phase, _) in self.cluster.volumes().items()}

    def run_on(self, machine: Remote, name: str, claim: str = "data") -> None:
        node = self.node_of(machine)
        with step(f"run {name} on {node}, which mounts the volume"):
            self.cluster.run_with_claim(name, f"{self.images}/busybox:1", node, claim)
            wait.until(lambda: self.cluster.is_running(name), bool, 120, f"pod {name}")

    def inside(self, pod: str, command: str) -> str:
        """What a shell command prints that runs in a pod."""
        words = f"{_KUBECTL} exec {pod} -- /bin/busybox sh -c '{command}'"
        return self.master.run(words).strip()


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
