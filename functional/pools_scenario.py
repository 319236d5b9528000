"""The base of scenarios with two pools of workers."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from functional import kubernetes, shared
from functional.cluster_scenario import MASTER, WORKER, ClusterScenario, show
from mgmt_drivers.cluster.cluster_params import NAME as INSTALLATION
from mgmt_drivers.cluster.modification import NAME as MODIFICATION
from tools.client import wait
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote

POOL = "workerNode2"  # the VDU of the second pool
ASPECTS = {WORKER: "worker_instance", POOL: "worker2_instance"}
LABEL, DEDICATED = "example.com/pool", "example.com/dedicated"
# An audit log, settings of an admission plugin, and a flag of the controller manager.
_PATCHES = Path(__file__).parent / "overlays" / "patches"
_TAINT = (DEDICATED, "dataplane", "NoSchedule")


class PoolsScenario(ClusterScenario):
    """One control-plane node, two workers, and a pool of one for pods that need their own CPUs."""

    def instantiate_pools(self) -> Vnf:
        self.registry = shared.private_registry()
        overlays = [f"pools{self.api.variant}", str(_PATCHES)]
        vnf = self.create_vnf(self.onboard_package(overlays=overlays))
        patches = {"kubeadm_patches": "Files/kubernetes/patches"}
        request = self.request("simple_pools", self.registry, **patches)
        self.assert_completed(vnf.instantiate(request))
        master, folder = self.machines(vnf)[MASTER][0], self.enter(tempfile.TemporaryDirectory())
        url = self.vim(vnf).auth_url
        self.cluster = kubernetes.Cluster.from_vim(url, master, Path(folder))
        self.check_pools(vnf, workers=2, pooled=1)
        self.check_pods(vnf)
        return vnf

    def check_pools(self, vnf: Vnf, workers: int, pooled: int, label: str = "dataplane") -> None:
        """Check the nodes of each pool: their number, labels, taints, and kubelet."""
        with step(f"check {workers} workers and {pooled} of the second pool"):
            counts = {MASTER: 1, WORKER: workers, POOL: pooled}
            self.assertEqual(
                counts, {vdu: len(machines) for vdu, machines in self.machines(vnf).items()}
            )
            master = self.machines(vnf)[MASTER][0]
            self.assertEqual(sum(counts.values()), len(self.cluster.ready_nodes()))
            for vdu in counts:
                for _, machine in self.vnfcs(vnf, vdu):
                    self.check_node(vdu, self.node_name(machine), master, label)
            self.check_patches(master)
        show(master)

    def check_node(self, vdu: str, name: str, master: Remote, label: str) -> None:
        role = "master" if vdu == MASTER else "worker"
        self.assertRegex(name, f"^{role}-[0-9a-f]{{12}}$")
        node, is_pooled = self.cluster.core.read_node(name), vdu == POOL
        self.assertEqual(label if is_pooled else None, node.metadata.labels.get(LABEL))
        taints = [(t.key, t.value, t.effect) for t in node.spec.taints or ()]
        self.assertEqual(is_pooled, _TAINT in taints, str(taints))
        config = configz(master, name)
        log(f"{name}: {taints}, {config['cpuManagerPolicy']}, {config.get('systemReserved')}")
        self.assertEqual("static" if is_pooled else "none", config["cpuManagerPolicy"])
        self.assertEqual({"cpu": "500m"} if is_pooled else {}, config.get("systemReserved") or {})
        self.assertEqual("systemd", config["cgroupDriver"])  # of the cluster

    def check_patches(self, master: Remote) -> None:
        """The control plane runs with the package's patches, and reads the files beside them."""
        words = "run probe --image=probe --dry-run=server 2>&1"
        self.assertIn("would violate PodSecurity", master.run(f"{kubernetes.KUBECTL} {words}"))
        entry = json.loads(master.run("sudo tail --lines 1 /var/log/apiserver/audit.log"))
        self.assertEqual("pods", entry["objectRef"]["resource"])
        words = "--namespace kube-system get pods --selector component=kube-controller-manager"
        shown = master.run(f"{kubernetes.KUBECTL} {words} --output yaml")
        self.assertIn("--terminated-pod-gc-threshold=100", shown)

    def check_pods(self, vnf: Vnf) -> None:
        """A pod that tolerates the taint runs in the second pool; no other pod is there."""
        (_, machine), *_ = self.vnfcs(vnf, POOL)
        body = kubernetes.deployment("dataplane", f"{self.registry}/busybox:1", replicas=1)
        spec = body["spec"]["template"]["spec"]
        spec["nodeSelector"] = {LABEL: "dataplane"}
        spec["tolerations"] = [{"key": DEDICATED, "operator": "Exists"}]
        kubernetes.create(self.cluster.apps.create_namespaced_deployment, body)
        with self.cluster.web_server("web", f"{self.registry}/busybox:1", 2) as port:
            names = self.await_answers(f"http://{machine.address}:{port}/", 2)
        self.assertNotIn(self.node_name(machine), names)
        wait.until(
            lambda: [pod.spec.node_name for pod in self.cluster.pods("app=dataplane")],
            lambda seen: seen == [self.node_name(machine)], 120, "a pod in the second pool",
        )
        kubernetes.delete(self.cluster.apps.delete_namespaced_deployment, "dataplane")

    def change_label(self, vnf: Vnf, value: str) -> None:
        """Send the list of pools as a whole, with another label, as text: as v1 needs it."""
        params = self.request("simple_pools", self.registry)["additionalParams"][INSTALLATION]
        params["worker_pools"][0]["labels"][LABEL] = value
        wanted = json.dumps({"worker_pools": params["worker_pools"]})
        self.assert_completed(vnf.modify({"metadata": {MODIFICATION: wanted}}))

    def scale_each_pool(self, vnf: Vnf, *vdus: str) -> None:
        for vdu in vdus:
            counts = {WORKER: 2, POOL: 1}
            self.assert_completed(vnf.scale("SCALE_OUT", ASPECTS[vdu], 1))
            more = {**counts, vdu: counts[vdu] + 1}
            self.check_pools(vnf, workers=more[WORKER], pooled=more[POOL])
            self.assert_completed(vnf.scale("SCALE_IN", ASPECTS[vdu], 1))
            self.check_pools(vnf, workers=2, pooled=1)

    def heal_one_of_each(self, vnf: Vnf, *vdus: str) -> None:
        """A successor has what its pool has, and the labels that others gave."""
        for vdu in vdus:
            (vnfc, machine), *_ = self.vnfcs(vnf, vdu)
            name = self.node_name(machine)
            labels = {"metadata": {"labels": {"rack": vdu}}}
            self.cluster.core.patch_node(name, labels, _preload_content=False)
            self.assert_completed(vnf.heal({"vnfcInstanceId": [vnfc]}))
            self.check_pools(vnf, workers=2, pooled=1)
            (node,) = self.cluster.core.list_node(label_selector=f"rack={vdu}").items
            self.assertNotEqual(name, node.metadata.name)


def configz(master: Remote, node: str) -> Mapping[str, Any]:
    """The configuration with which a node's kubelet runs."""
    path = f"/api/v1/nodes/{node}/proxy/configz"
    found: Mapping[str, Any] = json.loads(master.run(f"{kubernetes.KUBECTL} get --raw {path}"))
    return found["kubeletconfig"]
