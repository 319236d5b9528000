"""A cluster with what most leave out: login by key, a proxy, a pod network of the package's own."""

import io
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import paramiko

from functional import shared
from functional.clusters import ClusterScenario
from functional.proxies import start_proxy, what_went_through
from tools.client import stacks, wait
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import say, step
from tools.client.machines import Remote

_MANIFEST = "Files/cni.json"
_MACHINES = 3


class Options(ClusterScenario):
    """They work together."""

    def test_key_proxy_and_cni_manifest(self) -> None:
        registry = shared.registry()
        (client,) = self.enter(stacks.machines(self.cloud, ["proxy"]))
        proxy = start_proxy(client)
        manifest = CONFIG.build / "cni.json"
        manifest.write_text(json.dumps(_pod_network(f"{registry}/busybox:1")))
        key = paramiko.RSAKey.generate(3072)
        request = self.request(
            "simple",
            registry,
            cni_manifest_path=_MANIFEST,
            # None of the machines it reaches is one of the cluster's.
            proxy={"http_proxy": proxy, "k8s_node_cidr": "198.51.100.0/24"},
        )
        by_key(request, key)

        vnf = self.vnf(self.package_of({_MANIFEST: manifest}))
        with ThreadPoolExecutor() as pool:
            operation = pool.submit(vnf.instantiate, request)
            self.authorize(vnf, key)
        self.assert_completed(operation.result())
        self.cluster_works(vnf, registry, masters=1, workers=2)
        seen = what_went_through(client)
        say(
            f"the proxy saw {seen.count('Packages')} indices of packages, "
            f"{seen.count('/manifests/')} manifests of images"
        )
        self.assertIn("/apt/", seen)
        self.assertIn(f"{registry}/v2/kube-apiserver", seen)

    def authorize(self, vnf: Vnf, key: paramiko.RSAKey) -> None:
        """Put the key on the machines, on which an image of a cloud has it."""
        found = wait.until(
            lambda: self.machines_so_far(vnf),
            lambda seen: len(seen) == _MACHINES,
            120,
            "the machines",
        )
        line = f"{key.get_name()} {key.get_base64()}"
        with step("give the machines the key"):
            for machine in found:
                machine.await_login()
                machine.run(f"mkdir -p ~/.ssh && echo '{line}' >>~/.ssh/authorized_keys")

    def machines_so_far(self, vnf: Vnf) -> list[Remote]:
        return self.reached_by(vnf, "masterNode_CP1") + self.reached_by(vnf, "workerNode_CP2")


def by_key(request: dict[str, Any], key: paramiko.RSAKey) -> None:
    """The request, with the private key in the place of passwords."""
    text = io.StringIO()
    key.write_private_key(text)
    installation = request["additionalParams"]["k8s_cluster_installation_param"]
    for group in ("master_node", "worker_node"):
        del installation[group]["password"]
        installation[group]["private_key"] = text.getvalue()


# Each node's share of the pods' network is numbered as the node is in its own.
_SCRIPT = """
prefix=${NODE_IP%.*} own=${NODE_IP##*.}
cat >/net.d/10-scenario.conflist <<END
{"cniVersion": "0.3.1", "name": "scenario", "plugins": [
  {"type": "bridge", "bridge": "cni7", "isDefaultGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "192.168.$own.0/24"}]]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
END
number=2
while [ $number -lt 255 ]; do
  [ $number = $own ] || busybox ip route replace 192.168.$number.0/24 via $prefix.$number
  number=$((number + 1))
done
exec busybox sleep 1000000
"""


def _pod_network(image: str) -> dict[str, Any]:
    """A DaemonSet that configures the bridge plugin, and routes, on each node."""
    labels = {"app": "scenario-cni"}
    container = {
        "name": "cni",
        "image": image,
        "command": ["/bin/busybox", "sh", "-c", _SCRIPT],
        "env": [{"name": "NODE_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}],
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": "net-d", "mountPath": "/net.d"}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "scenario-cni", "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "hostNetwork": True,
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [container],
                    "volumes": [{"name": "net-d", "hostPath": {"path": "/etc/cni/net.d"}}],
                },
            },
        },
    }
