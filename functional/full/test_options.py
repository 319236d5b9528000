"""A cluster with rare options: login by key, a proxy, and a CNI manifest of the package."""

import io
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import paramiko

from functional import proxies, shared
from functional.cluster_scenario import WORKER, ClusterScenario
from functional.proxies import proxy_log, start_proxy
from mgmt_drivers.params.kubernetes import DEFAULT_CNI_MANIFEST
from tools.client import stacks, wait
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote
from tools.client.packages import SOURCES

_MANIFEST = "Files/cni.yaml"
_VNI = 77
_MACHINES = 3


class Options(ClusterScenario):
    """The options work together."""

    def test_key_proxy_and_cni_manifest(self) -> None:
        registry = shared.private_registry()
        (client,) = self.enter(stacks.machines(self.cloud, ["proxy"], [proxies.PORT]))
        proxy = start_proxy(client)
        manifest = CONFIG.build / "cni.yaml"
        write_manifest(manifest, registry)
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
        (_, worker), *_ = self.vnfcs(vnf, WORKER)
        worker.run(f"ip link show flannel.{_VNI}")
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


def write_manifest(path: Path, registry: str) -> None:
    """The package's own pod network as one that another CNI's project might publish.

    It has another VXLAN, and names the images in the registry itself.
    """
    text = (SOURCES / "kubernetes" / DEFAULT_CNI_MANIFEST).read_text()
    text = text.replace('"Type": "vxlan"', f'"Type": "vxlan", "VNI": {_VNI}')
    path.write_text(re.sub(r"image: \S*/", f"image: {registry}/", text))
