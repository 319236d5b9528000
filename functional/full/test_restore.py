"""Clusters that are lost, and made again of backups of their etcd."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from functional import conformance, hardening, shared
from functional.backup_scenario import BACKUP, NAME, BackupScenario
from functional.cluster_scenario import MASTER, WORKER, show
from functional.requests import REQUESTS
from functional.storage_scenario import StorageScenario
from tools.client.api import V2
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote
from tools.client.packages import image_overlay

_FOLDER = "/var/backups/etcd"
_FILE = "Files/backup.tar"
_KEYS = "mgmtDriverEtcdBackupKeys"  # as the v1 API shows mgmt_driver_etcd_backup_keys
_MEMBERS = ["manifest.json", "manifest.json.sig", "password.enc", "data.enc"]


class RestoreOfAllMachines(BackupScenario, StorageScenario):
    """Pods share a volume, whose server is healed; then all machines are gone, and come back.

    With them comes what etcd and the volume held. The workers have a kernel of their own, whose NFS
    client mounts the volumes: containers may have another one, see the gate's scenario.
    """

    api = V2()

    def test_restore_of_all_machines(self) -> None:
        self.registry = shared.private_registry()
        masters = image_overlay(CONFIG.prepared_image or CONFIG.node_image, [MASTER])
        workers = image_overlay(CONFIG.vm_image, [WORKER])
        overlays = [f"storage{self.api.variant}", masters, workers]
        vnf = self.create_vnf(self.onboard_package(overlays=overlays))
        request = self.storage_request("complex")
        params = request["additionalParams"]["k8s_cluster_installation_param"]
        params["etcd_backup"] = {"interval": "30m", "keep": 3}
        self.assert_completed(vnf.instantiate(request))
        self.cluster = self.check_cluster(vnf, self.registry, masters=3, workers=2)
        self.check_kernel_settings(vnf)
        self.check_shared_volume(vnf)
        self.heal_storage_server(vnf)

        self.create_notes(with_volume=True)
        self.in_pod(vnf, self.notes()[0], "echo written >/data/file")
        self.check_backups(vnf)
        self.check_what_is_refused(vnf)
        self.lose_all_machines(vnf)
        self.check_cnf(vnf)
        self.check_terminate(vnf)

    def check_kernel_settings(self, vnf: Vnf) -> None:
        """The workers have a kernel of their own, which began with Debian's settings."""
        for _, worker in self.vnfcs(vnf, WORKER):
            shown = worker.run(
                "cat /proc/sys/fs/inotify/max_user_instances /proc/sys/net/ipv4/ip_forward; "
                "ls -d /sys/module/nf_conntrack"
            )
            log(f"{worker.address}: {shown.split()}")
            self.assertEqual(["8192", "1", "/sys/module/nf_conntrack"], shown.split())

    def heal_storage_server(self, vnf: Vnf) -> None:
        """Rebooted, the server serves the pods again; healed, it has the data."""
        self.check_exports_after_reboot(vnf)
        pods = sorted(pod.metadata.name for pod in self.cluster.pods("claim=data"))
        self.assertEqual(2, len(pods))
        for pod in pods:
            self.assertEqual("from pod0", self.in_pod(vnf, pod, "cat /data/pod0"))
        self.master = self.machines(vnf)[MASTER][0]
        self.check_heal_of_storage_server(vnf, pods=pods, claim="data")
        _, server = self.storage_server(vnf)
        self.assertEqual("from pod0\n", server.run("cat /volume/nfs/pv*/pod0"))

    def lose_all_machines(self, vnf: Vnf) -> None:
        nodes, volumes = self.cluster.node_names(), self.cluster.volumes()
        token = self.vim_token()
        self.label_a_worker(vnf)
        name = self.save_backup(self.machines(vnf)[MASTER][0])
        with step(f"lose all machines, and have the pods again, of {name}"):
            self.delete_servers(vnf)
            body = {"additionalParams": {"restore_from": "latest"}}
            self.assert_completed(vnf.heal(body))
            # The client of the VIM's new token, with the old CA.
            self.cluster = self.check_cluster(vnf, self.registry, masters=3, workers=2)
            pods = self.notes()
        self.check_restored(vnf, pods, nodes, volumes)
        self.assertNotEqual(token, self.vim_token())

    def check_backups(self, vnf: Vnf) -> None:
        """Masters save backups, the storage server alone has them, and nobody mounts them."""
        _, server = self.storage_server(vnf)
        for _, master in self.vnfcs(vnf, MASTER):
            log(master.run("systemctl list-timers --no-pager tacker-etcd-backup.timer"))
            master.run("systemctl is-active tacker-etcd-backup.timer")
            self.save_backup(master)
        find = "sudo find /backups/etcd-backup -type f -name 'etcd-*' -printf '%f %m\\n'"
        listed = server.run(find)
        log(f"backups on the storage server: {listed}")
        # The backup of the instantiation, one of each master, and what timers saved meanwhile.
        self.assertLessEqual(4, len(listed.splitlines()))
        for name in (self.node_name(master) for _, master in self.vnfcs(vnf, MASTER)):
            self.assertIn(f"-{name}.tar", listed)
        self.assertEqual({"600"}, {line.split()[1] for line in listed.splitlines()})
        self.assertEqual("700\n", server.run("sudo stat -c %a /backups/etcd-backup"))
        self.assertNotIn("/backups", server.run("sudo exportfs -s"))
        newest = f"/backups/etcd-backup/{listed.split()[0]}"
        self.assertEqual(_MEMBERS, server.run(f"sudo tar --list --file {newest}").split())
        search = f"sudo grep --text --count -e {NAME} -e etcd-backup.db {newest}; true"
        self.assertEqual("0\n", server.run(search))

    def check_what_is_refused(self, vnf: Vnf) -> None:
        """A backup that is not there, and one that somebody has changed; the future is ignored."""
        _, server = self.storage_server(vnf)
        folder = "/backups/etcd-backup"
        newest = server.run(f"sudo ls {folder}").split()[-1]
        year = newest[5:9]
        forged = newest.replace(f"etcd-{year}", f"etcd-{int(year) + 2}", 1)
        changed = f"{newest[:14]}235959{newest[20:]}"  # its time
        server.run(f"sudo cp --preserve {folder}/{newest} {folder}/{forged}")
        server.run(f"sudo cp --preserve {folder}/{newest} {folder}/{changed}")
        server.run(
            f"echo other | sudo dd of={folder}/{changed} bs=1 seek=9000 conv=notrunc status=none"
        )
        missing = "etcd-20200101T000000Z-v1.37.0-00000000-master-000000000000.tar"
        for name, words in (
            (missing, f"there is no backup {missing}"),
            (changed, "was changed after node"),
        ):
            failed = vnf.heal({"additionalParams": {"restore_from": name}})
            self.assert_failed(failed, "additionalParams.restore_from: ", words)
            self.tacker.fail_vnf_instance(failed["id"])
        server.run(f"sudo rm {folder}/{changed}")
        self.assertEqual(5, len(self.cluster.ready_nodes()))

    def label_a_worker(self, vnf: Vnf) -> None:
        worker = self.node_name(self.machines(vnf)[WORKER][0])
        body = {"metadata": {"labels": {"rack": "r7"}}}
        self.cluster.core.patch_node(worker, body, _preload_content=False)

    def check_restored(
        self,
        vnf: Vnf,
        pods: list[str],
        nodes: set[str],
        volumes: Mapping[str, tuple[str, str]],
    ) -> None:
        """The objects and the data are the old ones, the nodes are not."""
        show(self.machines(vnf)[MASTER][0])
        now = self.cluster.node_names()
        self.assertEqual((5, set()), (len(now), now & nodes))
        self.assertEqual(volumes, self.cluster.volumes())
        self.assertIn("Bound", {phase for phase, _ in volumes.values()})
        for pod in pods:
            self.assertEqual("kept", self.in_pod(vnf, pod, "cat /words/word"))
            self.assertEqual("written", self.in_pod(vnf, pod, "cat /data/file"))
        found = self.cluster.core.list_node(label_selector="rack=r7").items
        self.assertEqual(1, len(found))

    def vim_token(self) -> str:
        return str(self.cluster.core.api_client.configuration.api_key["authorization"])


class RestoreInAnotherVnf(BackupScenario):
    """A backup from a folder on a master makes a cluster of another VNF, through v1."""

    image = CONFIG.prepared_image

    def test_restore_in_another_vnf(self) -> None:
        self.registry = shared.private_registry()
        vnf = self.create_vnf(self.onboard_package())
        place: dict[str, Any] = {"etcd_backup": {"folder": _FOLDER, "interval": "1h"}}
        self.assert_completed(vnf.instantiate(self.request("simple", self.registry, **place)))
        self.cluster = self.check_cluster(vnf, self.registry, masters=1, workers=2)
        self.create_notes(with_volume=False)
        self.notes()
        master = self.machines(vnf)[MASTER][0]
        self.rotate_key(vnf, master)
        copy = self.copy_of(master, self.save_backup(master))
        failed = vnf.heal({"additionalParams": {"restore_from": "latest"}})
        self.assert_failed(failed, "restore_from: the backups are in /var/backups/etcd on the mast")
        self.tacker.fail_vnf_instance(failed["id"])
        old, keys = self.cluster.node_names(), vnf.show()["metadata"][_KEYS]
        self.assert_completed(vnf.terminate())

        other = self.create_vnf(self.onboard_package({_FILE: copy}))
        source = {"restore_from": _FILE, "restore_keys": keys}
        request = self.request("simple", self.registry, **place, **source)
        self.check_other_networks(other, request)
        self.assert_completed(other.instantiate(request))
        self.cluster = self.check_cluster(other, self.registry, masters=1, workers=2)
        self.assertEqual(set(), old & self.cluster.node_names())
        for pod in self.notes():
            self.assertEqual("kept", self.in_pod(other, pod, "cat /words/word"))
        master = self.machines(other)[MASTER][0]
        hardening.check_keys(self.cluster, [master], "key2")
        conformance.check(master, self.registry, conformance.SUBSET, self.name)
        self.check_terminate(other)

    def rotate_key(self, vnf: Vnf, master: Remote) -> None:
        """The old key is gone, and the backup that the rotation saves has the new one."""
        before = master.run(f"{BACKUP} list").split()
        request = json.loads((REQUESTS / "kubernetes/rotation.json").read_text())
        self.assert_completed(vnf.modify(request))
        hardening.check_keys(self.cluster, [master], "key2")
        self.assertLess(before[-1], master.run(f"{BACKUP} list").split()[-1])

    def copy_of(self, master: Remote, name: str) -> Path:
        data = base64.b64decode(master.run(f"{BACKUP} read {name} | base64"))
        CONFIG.build.mkdir(parents=True, exist_ok=True)
        path = CONFIG.build / "backup.tar"
        path.touch(0o600)
        path.write_bytes(data)
        self.addCleanup(path.unlink)
        return path

    def check_other_networks(self, vnf: Vnf, request: dict[str, Any]) -> None:
        other = json.loads(json.dumps(request))
        params = other["additionalParams"]["k8s_cluster_installation_param"]
        params["master_node"]["pod_cidr"] = "172.29.0.0/16"
        failed = vnf.instantiate(other)
        self.assert_failed(failed, "restore_from: its cluster had the pod_cidr")
        self.assertEqual("ROLLED_BACK", vnf.rollback(failed)["operationState"])
