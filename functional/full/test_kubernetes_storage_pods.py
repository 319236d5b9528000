"""Pods that mount what a storage server exports, on nodes that are QEMU machines."""

from functional import shared
from functional.clusters import MASTER, WORKER
from functional.kubernetes import KUBECTL
from functional.packages import workers_with_volumes
from functional.storage import StorageScenario
from tools.client import wait
from tools.client.lcm import Vnf
from tools.client.log import say, step
from tools.client.machines import Remote


class PodsWithStorage(StorageScenario):
    """Pods on several nodes share a volume; the server and the cluster are healed."""

    def test_pods_with_storage(self) -> None:
        self.images = shared.registry()
        overlays = [f"storage{self.api.variant}", workers_with_volumes()]
        vnf = self.vnf(self.package_of(overlays=overlays))
        self.assert_completed(vnf.instantiate(self.storage_request("complex")))
        self.cluster = self.cluster_works(vnf, self.images, masters=3, workers=2)
        self.all_available()
        self.master = self.machines(vnf)[MASTER][0]

        self.pods_share_a_volume(vnf)
        self.a_new_worker_mounts_it(vnf)
        self.assert_completed(vnf.scale("SCALE_IN", "worker_instance", 1))
        self.exports_survive_a_reboot(vnf)
        pods = sorted(pod.metadata.name for pod in self.cluster.pods("claim=data"))
        self.assertEqual(2, len(pods))
        for pod in pods:
            self.assertEqual("from pod0", self.inside(pod, "cat /data/pod0"))
        self.heal_waits_for_its_users(vnf, pods=pods, claim="data")
        self.heal_has_kept_the_data(vnf)

        self.assert_completed(vnf.heal({}))
        self.cluster = self.cluster_works(vnf, self.images, masters=3, workers=2)
        self.all_available()

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

    def heal_has_kept_the_data(self, vnf: Vnf) -> None:
        _, server = self.server(vnf)
        self.assertEqual("from pod0\n", server.run("cat /volume/nfs/pv*/pod0"))
        (_, machine), *_ = self.vnfcs(vnf, WORKER)
        self.cluster.claim("again")
        self.run_on(machine, "pod3", claim="again")
        self.inside("pod3", "echo new >/data/pod3")
        say(f"the data of the old server is on the new one; a claim is bound: {self.phases()}")

    def run_on(self, machine: Remote, name: str, claim: str = "data") -> None:
        node = self.node_of(machine)
        with step(f"run {name} on {node}, which mounts the volume"):
            self.cluster.run_with_claim(name, f"{self.images}/busybox:1", node, claim)
            wait.until(lambda: self.cluster.is_running(name), bool, 120, f"pod {name}")

    def inside(self, pod: str, command: str) -> str:
        """What a shell command prints that runs in a pod."""
        words = f"{KUBECTL} exec {pod} -- /bin/busybox sh -c '{command}'"
        return self.master.run(words).strip()
