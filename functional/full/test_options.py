"""A cluster with rare options: login by key, a proxy, and a CNI manifest of the package."""

import io
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import paramiko

from functional import proxies, shared
from functional.cluster_scenario import ClusterScenario
from functional.proxies import proxy_log, start_proxy
from tools.client import stacks, wait
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote

_MANIFEST = "Files/cni.json"
_MACHINES = 3


class Options(ClusterScenario):
    """The options work together."""

    def test_key_proxy_and_cni_manifest(self) -> None:
        registry = shared.private_registry()
        (client,) = self.enter(stacks.machines(self.cloud, ["proxy"], [proxies.PORT]))
        proxy = start_proxy(client)
        manifest = CONFIG.build / "cni.json"
        manifest.write_text(json.dumps(_pod_network(f"{registry}/busybox:1")))
        key = paramiko.RSAKey.generate(3072)
        request = self.request(
            "simple",
            registry,
            cni_manifest_path=_MANIFEST,
            # A range without any of the cluster's machines.
            proxy={"http_proxy": proxy, "k8s_node_cidr": "198.51.100.0/24"},
        )
        use_private_key(request, key)

        vnf = self.create_vnf(self.onboard_package({_MANIFEST: manifest}))
        with ThreadPoolExecutor() as pool:
            operation = pool.submit(vnf.instantiate, request)
            self.authorize_key(vnf, key)
        self.assert_completed(operation.result())
        self.check_cluster(vnf, registry, masters=1, workers=2)
        seen = proxy_log(client)
        log(
            f"the proxy saw {seen.count('Packages')} indices of packages, "
            f"{seen.count('/manifests/')} manifests of images"
        )
        self.assertIn("/apt/", seen)
        self.assertIn(f"{registry}/v2/kube-apiserver", seen)

    def authorize_key(self, vnf: Vnf, key: paramiko.RSAKey) -> None:
        """Put the key on the machines, as the image of another cloud would have it."""
        found = wait.until(
            lambda: self.created_machines(vnf),
            lambda seen: len(seen) == _MACHINES,
            300,
            "the machines",
        )
        line = f"{key.get_name()} {key.get_base64()}"
        with step("put the key on the machines"):
            for machine in found:
                machine.await_login()
                machine.run(f"mkdir -p ~/.ssh && echo '{line}' >>~/.ssh/authorized_keys")

    def created_machines(self, vnf: Vnf) -> list[Remote]:
        cps = ("masterNode_CP1", "workerNode_CP2")
        return [machine for cp in cps for machine in self.machines_with_cp(vnf, cp)]


def use_private_key(request: dict[str, Any], key: paramiko.RSAKey) -> None:
    """Replace the passwords in a request by a private key."""
    text = io.StringIO()
    key.write_private_key(text)
    installation = request["additionalParams"]["k8s_cluster_installation_param"]
    for group in ("master_node", "worker_node"):
        del installation[group]["password"]
        installation[group]["private_key"] = text.getvalue()


# The third octet of a node's pod CIDR is the last octet of the node's address.
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
