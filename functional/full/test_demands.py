"""Demands of others on a cluster: a large manifest, a node full of pods, an address that goes."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from functional import kubernetes
from functional.cluster_scenario import MASTER, WORKER
from functional.kubernetes import KUBECTL
from functional.nodes_scenario import NodesScenario
from mgmt_drivers.cluster.cluster_params import DEFAULT_CNI_MANIFEST
from tools.client import wait
from tools.client.config import CONFIG
from tools.client.lcm import Package, Vnf
from tools.client.log import log, step
from tools.client.machines import Remote
from tools.client.packages import SOURCES
from tools.client.poll import poll_api

MANIFEST = "Files/kubernetes/large.yaml"
# The annotation in which kubectl keeps what it applied on the client's side takes 256 KiB.
_SIZE = 300_000
_KIND = "largethings.example.com"
_DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": _KIND},
    "spec": {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"plural": "largethings", "singular": "largething", "kind": "LargeThing"},
        "versions": [{
            "name": "v1", "served": True, "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "description": "x" * _SIZE}},
        }],
    },
}
_OBJECT = {
    "apiVersion": "example.com/v1", "kind": "LargeThing", "metadata": {"name": "example"},
}
# A kubelet takes 110 pods; the other pods of a worker are fewer than 20.
_PODS = 90
_READABLE = "sudo timeout 10 kubectl --kubeconfig /etc/kubernetes/admin.conf logs --follow"


class Demands(NodesScenario):
    """Reports of the field that ask for no machine of another kind."""

    image = CONFIG.prepared_image
    options = {"cni_manifest_path": MANIFEST}

    def test_demands(self) -> None:
        vnf = self.instantiate_balanced_cluster()
        master = self.machines(vnf)[MASTER][0]
        self.assertEqual(
            "largething.example.com/example\n",
            master.run(f"{KUBECTL} get {_KIND} --output name"),
        )
        self.fill_node(master, self.vnfcs(vnf, WORKER)[0][1])
        self.lose_virtual_ip(vnf)
        with self.tenants_etcd(nodes=5):
            self.check_status(vnf, 0)
            self.heal(vnf, [self.vnfcs(vnf, MASTER)[0][0]])
        self.check_balanced_cluster(vnf, workers=2)
        self.check_terminate(vnf)

    def onboard_package(
        self, files: Mapping[str, Path] | None = None, overlays: Sequence[str] = ()
    ) -> Package:
        path = CONFIG.build / "large.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(manifest(self.registry))
        return super().onboard_package({**(files or {}), MANIFEST: path}, overlays)

    def fill_node(self, master: Remote, worker: Remote) -> None:
        """Each pod's shim takes inotify instances, and so do kubelet and who follows a log."""
        node = self.node_name(worker)
        body = pods_of_node(f"{self.registry}/busybox:1", node)
        with step(f"run {_PODS} pods on {node}"):
            kubernetes.create(self.cluster.apps.create_namespaced_deployment, body)
            wait.until(self.ready_pods, lambda seen: seen == _PODS, 900, "the pods")
        pod = self.cluster.pods("app=many")[0].metadata.name
        said = master.run(f"{_READABLE} {pod} 2>&1", check=False)
        limit = worker.run("cat /proc/sys/fs/inotify/max_user_instances").strip()
        log(f"{limit} inotify instances on {worker.address}; the log of {pod}: {said}")
        self.assertEqual("begun\n", said)
        with step("restart containerd"):
            worker.run("sudo systemctl restart containerd")
            ask = "sudo ctr plugins ls | awk '$2 == \"cri\" { print $NF }'"
            seen = wait.until(lambda: worker.run(ask), lambda s: "ok" in s, 60, "containerd's CRI")
            log(f"CRI: {seen.split()}")
            wait.until(self.ready_pods, lambda ready: ready == _PODS, 300, "the pods")
        kubernetes.delete(self.cluster.apps.delete_namespaced_deployment, "many")
        wait.until(lambda: self.cluster.pods("app=many"), lambda p: not p, 300, "the pods' end")

    def ready_pods(self) -> int:
        found = self.cluster.apps.read_namespaced_deployment("many", "default")
        return found.status.ready_replicas or 0

    @contextlib.contextmanager
    def tenants_etcd(self, nodes: int) -> Iterator[None]:
        """Run on every node a container of the name that etcd's own has, in which no etcd is."""
        body = kubernetes.deployment("etcd", f"{self.registry}/busybox:1", 1, spread=False)
        del body["spec"]["replicas"]
        spec = body["spec"]["template"]["spec"]
        spec["tolerations"] = [{"operator": "Exists"}]
        spec["containers"][0]["name"] = "etcd"
        daemon_set = {**body, "kind": "DaemonSet"}
        kubernetes.create(self.cluster.apps.create_namespaced_daemon_set, daemon_set)
        ready = self.cluster.ready_pods_by_daemon_set
        wait.until(ready, lambda seen: seen.get("etcd") == nodes, 120, "a tenant's etcd")
        try:
            yield
        finally:
            kubernetes.delete(self.cluster.apps.delete_namespaced_daemon_set, "etcd")

    def lose_virtual_ip(self, vnf: Vnf) -> None:
        """Somebody takes the address from its holder, as a restart of systemd-networkd does."""
        address, masters = self.virtual_ip(), list(self.masters(vnf).values())
        (holder,) = (machine for machine in masters if machine.has_address(address))
        with poll_api(self.vim_before.auth_url) as seen:
            holder.run(
                f"interface=$(ip -4 -o address show to {address} | awk '{{ print $2 }}'); "
                f"sudo ip address del {address}/32 dev $interface"
            )
            wait.until(
                lambda: [m.address for m in masters if m.has_address(address)],
                lambda holders: len(holders) == 1, 60, f"one holder of {address}",
            )
        self.assertLess(seen.answers.longest, 10)


def manifest(registry: str) -> str:
    """The package's own pod network, and an object that stands before its large definition."""
    text = (SOURCES / "kubernetes" / DEFAULT_CNI_MANIFEST).read_text()
    lines = [
        f"{line.partition('image: ')[0]}image: {registry}/{line.rpartition('/')[2]}"
        if "image: " in line else line
        for line in text.splitlines()
    ]
    others = "---\n".join(yaml.safe_dump(thing) for thing in (_OBJECT, _DEFINITION))
    return "\n".join([*lines, "---", others])


def pods_of_node(image: str, node: str) -> dict[str, Any]:
    """A Deployment of pods that do nothing, on one node."""
    body: dict[str, Any] = json.loads(
        json.dumps(kubernetes.deployment("many", image, _PODS, spread=False))
    )
    spec = body["spec"]["template"]["spec"]
    words = "echo begun && exec busybox sleep 3600"
    spec["nodeName"] = node
    spec["containers"][0]["command"] = ["/bin/busybox", "sh", "-c", words]
    return body
