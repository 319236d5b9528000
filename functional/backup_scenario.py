"""The base of scenarios with backups of etcd."""

from functional.cluster_scenario import ClusterScenario
from functional.kubernetes import create, deployment
from mgmt_drivers.machine.files import STATE_FOLDER
from tools.client import stacks, wait
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote

BACKUP = f"sudo bash {STATE_FOLDER}/etcd-backup.sh"
NAME = "notes"  # of the workload and all that belongs to it


class BackupScenario(ClusterScenario):
    """A Deployment with a ConfigMap, which a backup has to bring back."""

    def create_notes(self, *, with_volume: bool) -> None:
        words = {"metadata": {"name": NAME}, "data": {"word": "kept"}}
        create(self.cluster.core.create_namespaced_config_map, words)
        body = deployment(NAME, f"{self.registry}/busybox:1", replicas=2, spread=False)
        spec = body["spec"]["template"]["spec"]
        spec["volumes"] = [{"name": "words", "configMap": {"name": NAME}}]
        mounts = [{"name": "words", "mountPath": "/words"}]
        if with_volume:
            self.cluster.claim_volume(NAME)
            claim = {"claimName": NAME}
            spec["volumes"].append({"name": "data", "persistentVolumeClaim": claim})
            mounts.append({"name": "data", "mountPath": "/data"})
        spec["containers"][0]["volumeMounts"] = mounts
        create(self.cluster.apps.create_namespaced_deployment, body)

    def notes(self) -> list[str]:
        """Names of the workload's pods, once two are ready on nodes that there are."""

        def look() -> list[str]:
            nodes = self.cluster.ready_nodes()
            return [
                pod.metadata.name
                for pod in self.cluster.pods(f"app={NAME}")
                if pod.spec.node_name in nodes and not pod.metadata.deletion_timestamp
                and pod.status.container_statuses
                and all(status.ready for status in pod.status.container_statuses)
            ]

        return wait.until(look, lambda pods: len(pods) == 2, 400, "the pods of the workload")

    def save_backup(self, master: Remote) -> str:
        """Save a backup now; returns its name, which is that of the newest."""
        with step("save a backup"):
            log(master.run(f"{BACKUP} save now"))
        return master.run(f"{BACKUP} list").split()[-1]

    def delete_servers(self, vnf: Vnf) -> None:
        servers = stacks.servers(self.cloud, vnf.id)
        with step(f"delete all {len(servers)} servers"):
            for server in servers:
                self.cloud.compute.delete_server(server)
            for server in servers:
                self.cloud.compute.wait_for_delete(server, wait=300)
