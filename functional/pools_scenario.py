"""The base of scenarios with two pools of workers."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from kubernetes.utils import parse_quantity

from functional import kubernetes, oidc, shared
from functional.cluster_scenario import MASTER, SOFT, WORKER, ClusterScenario, show
from mgmt_drivers.cluster.cluster_params import NAME as INSTALLATION
from mgmt_drivers.cluster.modification import NAME as MODIFICATION
from tools.client import stacks, wait
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote

POOL = "workerNode2"  # the VDU of the second pool
ASPECTS = {WORKER: "worker_instance", POOL: "worker2_instance"}
LABEL, DEDICATED, _HOST = "example.com/pool", "example.com/dedicated", "CIS-node"
# An audit log, an admission plugin's settings, logins by OIDC, feature gates, and a flag of the
# controller manager.
_OVERLAY, _PATCHES = Path(__file__).parent / "overlays" / "patches", "Files/kubernetes/patches"
_AUTHENTICATION = f"{_PATCHES}/files/authentication.yaml"
_TAINT = (DEDICATED, "dataplane", "NoSchedule")
_UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"
_DAY = 86400  # seconds
_RESERVED = {"cpu": "500m", "memory": "256Mi"}
_KUBE_RESERVED = {"memory": "200Mi"}
_EVICTION = {"memory.available": "400Mi"}  # below which kubelet evicts pods after a while
_ASK_KUBELET = "sudo cat /proc/$(systemctl show --property MainPID --value kubelet)/cmdline"
# Without the feature gate HPAScaleToZero the API takes no autoscaler with this minimum.
_AUTOSCALER = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "none"},
    "spec": {
        "minReplicas": 0,
        "maxReplicas": 1,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"},
        "metrics": [{
            "type": "External",
            "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "1"}},
        }],
    },
}


class PoolsScenario(ClusterScenario):
    """One control-plane node, two workers, and a pool of one for pods that need their own CPUs."""

    issuer: oidc.Issuer

    def instantiate_pools(self) -> Vnf:
        self.registry = shared.private_registry()
        overlays = [f"pools{self.api.variant}", str(_OVERLAY)]
        vnf = self.create_vnf(self.onboard_package(self.start_issuer(), overlays))
        self.assert_completed(vnf.instantiate(self.pools_request()))
        master, folder = self.machines(vnf)[MASTER][0], self.enter(tempfile.TemporaryDirectory())
        url = self.vim(vnf).auth_url
        self.cluster = kubernetes.Cluster.from_vim(url, master, Path(folder))
        self.check_closed_node()
        self.check_pools(vnf, workers=2, pooled=1)
        self.check_pods(vnf)
        return vnf

    def start_issuer(self) -> dict[str, Path]:
        """Start an issuer of OpenID Connect; returns the file by which apiservers know it."""
        (machine,) = self.enter(stacks.machines(self.cloud, ["issuer"], [oidc.PORT]))
        self.issuer = oidc.start_issuer(machine)
        written = yaml.safe_load((_OVERLAY / _AUTHENTICATION).read_text())
        path = CONFIG.build / "authentication.yaml"
        path.write_text(yaml.safe_dump(self.issuer.configured(written)))
        return {_AUTHENTICATION: path}

    def pools_request(self) -> dict[str, Any]:
        """The guide's request, with a pool that a cloud controller manager is to initialize."""
        fields = {"certificateValidityPeriod": "200d", "encryptionAlgorithm": "ECDSA-P256"}
        params: dict[str, Any] = {"kubeadm_patches": _PATCHES, "cluster_configuration": fields}
        request = self.request("simple_pools", self.registry, **params)
        (pool,) = request["additionalParams"][INSTALLATION]["worker_pools"]
        pool["cloud_provider"] = "external"
        return request

    def check_closed_node(self) -> None:
        """No pod of the second pool starts before its node is initialized."""
        body = kubernetes.deployment("dataplane", f"{self.registry}/busybox:1", replicas=1)
        spec = body["spec"]["template"]["spec"]
        spec["nodeSelector"] = {LABEL: "dataplane"}
        spec["tolerations"] = [{"key": DEDICATED, "operator": "Exists"}]
        kubernetes.create(self.cluster.apps.create_namespaced_deployment, body)
        wait.until(
            lambda: [
                condition.reason
                for pod in self.cluster.pods("app=dataplane")
                for condition in pod.status.conditions or ()
            ],
            lambda seen: "Unschedulable" in seen, 60, "a pod that waits",
        )

    def initialize_nodes(self, vnf: Vnf, master: Remote) -> None:
        """Do what a cloud controller manager does to new nodes of the second pool.

        A stand-in: no cloud was asked who the machine is.
        """
        for vnfc, machine in self.vnfcs(vnf, POOL):
            name = self.node_name(machine)
            node = self.cluster.core.read_node(name)
            keys = [taint.key for taint in node.spec.taints or ()]
            self.assertEqual(node.spec.provider_id is None, _UNINITIALIZED in keys, str(keys))
            if _UNINITIALIZED in keys:
                spec = json.dumps({"spec": {"providerID": f"example:///{vnfc}"}})
                master.run(f"{kubernetes.KUBECTL} patch node {name} --patch '{spec}'")
                master.run(f"{kubernetes.KUBECTL} taint node {name} {_UNINITIALIZED}-")

    def check_pools(self, vnf: Vnf, workers: int, pooled: int, label: str = "dataplane") -> None:
        """Check the nodes of each pool: their number, labels, taints, and kubelet."""
        with step(f"check {workers} workers and {pooled} of the second pool"):
            counts = {MASTER: 1, WORKER: workers, POOL: pooled}
            self.assertEqual(
                counts, {vdu: len(machines) for vdu, machines in self.machines(vnf).items()}
            )
            master = self.machines(vnf)[MASTER][0]
            self.assertEqual(sum(counts.values()), len(self.cluster.ready_nodes()))
            self.initialize_nodes(vnf, master)
            for vdu in counts:
                for _, machine in self.vnfcs(vnf, vdu):
                    self.check_node(vdu, machine, master, label)
            self.check_patches(master)
            self.check_certificates(master)
            self.check_hosts(vnf)
        show(master)

    def check_hosts(self, vnf: Vnf) -> None:
        """The servers of the second pool alone are in its server group."""
        (group,) = stacks.server_groups(self.cloud, vnf.id)
        pooled = {
            vnfc["computeResource"]["resourceId"] for vnfc in vnf.vnfcs() if vnfc["vduId"] == POOL
        }
        log(f"policy {group.policy}, members {group.member_ids}")
        self.assertEqual((SOFT, pooled), (group.policy, {*group.member_ids}))

    def check_node(self, vdu: str, machine: Remote, master: Remote, label: str) -> None:
        name, role = self.node_name(machine), "master" if vdu == MASTER else "worker"
        self.assertRegex(name, f"^{role}-[0-9a-f]{{12}}$")
        node, is_pooled = self.cluster.core.read_node(name), vdu == POOL
        self.assertEqual(label if is_pooled else None, node.metadata.labels.get(LABEL))
        taints = [(t.key, t.value, t.effect) for t in node.spec.taints or ()]
        self.assertEqual(is_pooled, _TAINT in taints, str(taints))
        self.assertEqual(is_pooled, _HOST in node.metadata.labels)
        config = configz(master, name)
        log(f"{name}: {taints}, {config['cpuManagerPolicy']}, {config.get('systemReserved')}")
        self.assertEqual("static" if is_pooled else "none", config["cpuManagerPolicy"])
        self.assertEqual(_RESERVED if is_pooled else {}, config.get("systemReserved") or {})
        self.assertEqual("systemd", config["cgroupDriver"])  # of the cluster
        self.assertEqual("50ms" if is_pooled else "100ms", config["cpuCFSQuotaPeriod"])
        words = machine.run(_ASK_KUBELET).split("\0")
        self.assertEqual(is_pooled, "--cloud-provider=external" in words, str(words))
        self.assertEqual(_EVICTION if is_pooled else {}, config.get("evictionSoft") or {})
        if is_pooled:
            # A flag of the image may have replaced the hard threshold.
            check_allocatable(node, config["evictionHard"]["memory.available"])

    def check_certificates(self, master: Remote) -> None:
        """kubeadm has made keys and certificates as its configuration says; upgrades renew them."""
        ask = "sudo openssl x509 -in /etc/kubernetes/pki/apiserver.crt -noout"
        self.assertIn("id-ecPublicKey", master.run(f"{ask} -text"))
        master.run(f"{ask} -checkend {199 * _DAY} && ! {ask} -checkend {201 * _DAY}")

    def check_patches(self, master: Remote) -> None:
        """The control plane runs with the package's patches, and reads the files beside them."""
        self.check_logins(master)
        asked = f"echo '{json.dumps(_AUTOSCALER)}' | {kubernetes.KUBECTL}"
        self.assertIn("created", master.run(f"{asked} create --dry-run=server --filename -"))
        words = "run probe --image=probe --dry-run=server 2>&1"
        self.assertIn("would violate PodSecurity", master.run(f"{kubernetes.KUBECTL} {words}"))
        entry = json.loads(master.run("sudo tail --lines 1 /var/log/apiserver/audit.log"))
        self.assertEqual("pods", entry["objectRef"]["resource"])
        words = "--namespace kube-system get pods --selector component=kube-controller-manager"
        shown = master.run(f"{kubernetes.KUBECTL} {words} --output yaml")
        self.assertIn("--terminated-pod-gc-threshold=100", shown)

    def check_logins(self, master: Remote) -> None:
        """The API takes tokens of the issuer, and none that another key has signed."""
        seen = wait.until(
            lambda: oidc.ask_whoami(master, self.issuer.token("jane", "developers")),
            lambda text: "userInfo" in text, 60, "a login by OpenID Connect",
        )
        user = json.loads(seen)["status"]["userInfo"]
        self.assertEqual("oidc:jane", user["username"])
        self.assertIn("oidc:developers", user["groups"])
        forged = self.issuer.token("jane", "developers", key=oidc.make_key())
        self.assertIn("logged in to the server", oidc.ask_whoami(master, forged))

    def check_pods(self, vnf: Vnf) -> None:
        """A pod that tolerates the taint runs in the second pool; no other pod is there."""
        (_, machine), *_ = self.vnfcs(vnf, POOL)
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
        params = self.pools_request()["additionalParams"][INSTALLATION]
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


def check_allocatable(node: Any, evicted_below: str) -> None:
    """kubelet keeps from pods the reserved parts, and the memory below which it evicts pods."""
    capacity, allocatable = node.status.capacity, node.status.allocatable
    kept = {
        kind: parse_quantity(capacity[kind]) - parse_quantity(allocatable[kind])
        for kind in _RESERVED
    }
    wanted = {kind: parse_quantity(quantity) for kind, quantity in _RESERVED.items()}
    wanted["memory"] += parse_quantity(_KUBE_RESERVED["memory"]) + parse_quantity(evicted_below)
    assert kept == wanted, (capacity, allocatable)


def configz(master: Remote, node: str) -> Mapping[str, Any]:
    """The configuration with which a node's kubelet runs."""
    path = f"/api/v1/nodes/{node}/proxy/configz"
    found: Mapping[str, Any] = json.loads(master.run(f"{kubernetes.KUBECTL} get --raw {path}"))
    return found["kubeletconfig"]
