"""A cluster with rare options: login by key, proxies, a CNI manifest, an image of one's own."""

import io
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import paramiko

from functional import proxies, shared
from functional.cluster_scenario import MASTER, WORKER, ClusterScenario
from functional.kubernetes import KUBECTL
from functional.proxies import proxy_log, start_proxy
from mgmt_drivers.cluster.cluster_params import DEFAULT_CNI_MANIFEST
from tools.client import stacks, wait
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote
from tools.client.packages import SOURCES

_MANIFEST = "Files/kubernetes/cni.yaml"
_VNI = 77
_MACHINES = 3
_DEAD_PROXY = "http://192.0.2.1:3128"
# What an operator's image of Debian 12 may have: a key, the containerd of that Debian, whose
# configuration has an older format, nftables only, and a proxy that sudo gives to all commands, as
# Ubuntu's does. Meanwhile nobody else logs in.
_PREPARE = """set -e
sudo systemctl stop ssh
sudo apt-get -qq update
sudo apt-get -qq install --yes --no-install-recommends containerd nftables >/dev/null
sudo update-alternatives --quiet --remove-all iptables
echo HTTPS_PROXY={proxy} | sudo tee --append /etc/environment
echo session required pam_env.so | sudo tee --append /etc/pam.d/sudo
mkdir -p ~/.ssh
echo '{key}' >>~/.ssh/authorized_keys
sudo systemctl start ssh
"""


class Options(ClusterScenario):
    """The options work together, with containerd 1 and without iptables."""

    image = CONFIG.older_image

    def test_options(self) -> None:
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
            self.prepare_machines(vnf, key)
        self.assert_completed(operation.result())
        self.cluster = self.check_cluster(vnf, registry, masters=1, workers=2)
        self.check_image_of_its_own(vnf)
        (_, worker), *_ = self.vnfcs(vnf, WORKER)
        worker.run(f"ip link show flannel.{_VNI}")
        seen = proxy_log(client)
        log(
            f"the proxy saw {seen.count('Packages')} indices of packages, "
            f"{seen.count('/manifests/')} manifests of images"
        )
        self.assertIn("/apt/", seen)
        self.assertIn(f"{registry}/v2/kube-apiserver", seen)

    def check_image_of_its_own(self, vnf: Vnf) -> None:
        """Its containerd and nftables are used, and its proxy is not: nobody would answer."""
        machines = [machine for found in self.machines(vnf).values() for machine in found]
        for machine in machines:
            version = machine.run("containerd --version").split()[2]
            mode = machine.run("curl --silent --fail localhost:10249/proxyMode")
            log(f"{machine.address}: containerd {version}, kube-proxy in mode {mode}")
            self.assertEqual(("1", "nftables"), (version.partition(".")[0], mode))
            config = machine.run("sudo head -n 20 /etc/containerd/config.toml")
            self.assertIn("version = 2", config)
            self.assertEqual(f"{_DEAD_PROXY}\n", machine.run("sudo printenv HTTPS_PROXY"))
        master = self.machines(vnf)[MASTER][0]
        shown = master.run("sudo sh -c 'cat /etc/kubernetes/manifests/*.yaml'")
        words = "get daemonset kube-proxy --namespace kube-system --output yaml"
        shown += master.run(f"{KUBECTL} {words}")
        self.assertNotIn("_PROXY", shown)

    def prepare_machines(self, vnf: Vnf, key: paramiko.RSAKey) -> None:
        """Put key and packages on the machines, as an image of one's own would have them."""
        found = wait.until(
            lambda: self.created_machines(vnf),
            lambda seen: len(seen) == _MACHINES,
            300,
            "the machines",
        )
        line = f"{key.get_name()} {key.get_base64()}"
        command = _PREPARE.format(key=line, proxy=_DEAD_PROXY)

        def prepare(machine: Remote) -> None:
            machine.await_login()
            machine.run(command)

        with step("put what the image may have on machines"), ThreadPoolExecutor() as pool:
            list(pool.map(prepare, found))

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

    It has another VXLAN, uses nftables, and names the images in the registry itself.
    """
    text = (SOURCES / "kubernetes" / DEFAULT_CNI_MANIFEST).read_text()
    text = text.replace('"Type": "vxlan"', f'"Type": "vxlan", "VNI": {_VNI}')
    text = text.replace('{"Network":', '{"EnableNFTables": true, "Network":')
    path.write_text(re.sub(r"image: \S*/", f"image: {registry}/", text))
