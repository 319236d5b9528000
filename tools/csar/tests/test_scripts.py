"""The script that installs a node's packages, with stand-ins for the machine's programs."""

import subprocess
import unittest

from tools.csar import build

SCRIPT = build.PACKAGES / "kubernetes/Scripts/install_k8s_cluster.sh"
# What the function calls; the machine has a container runtime already.
STAND_INS = """
apt() { echo "apt $*"; }
apt-mark() { :; }
containerd() { :; }
package_version() { echo 1.33.2-1.1; }
systemctl() { :; }
"""


class InstallTest(unittest.TestCase):
    def packages(self, **settings: str) -> list[str]:
        """The packages that the script installs."""
        text = SCRIPT.read_text()
        constants = [line for line in text.splitlines() if line.startswith("readonly ")]
        # The list of packages is read before it becomes a constant.
        constants.insert(0, next(line for line in text.splitlines() if line.startswith("read -ra")))
        functions = text[text.index("is_whole() {") : text.index("configure_containerd() {")]
        lines = ["set -euo pipefail", *constants, STAND_INS, functions, "packages"]
        done = subprocess.run(
            ["bash", "-c", "\n".join(lines)],
            env={"CONTAINER_RUNTIME": "containerd", **settings},
            capture_output=True,
            check=True,
            text=True,
        )
        (line,) = done.stdout.splitlines()
        return [word for word in line.split()[2:] if not word.startswith("-")]

    def test_all_that_a_node_needs_is_installed_at_once(self) -> None:
        found = self.packages(EXTRA_PACKAGES="haproxy keepalived")
        versioned = [f"{name}=1.33.2-1.1" for name in ("kubeadm", "kubectl", "kubelet")]
        programs = ["conntrack", "ethtool", "socat"]
        self.assertEqual(["haproxy", "keepalived", *programs, *versioned], found)
        self.assertEqual([*programs, *versioned], self.packages())

    def test_kubeadm_comes_first_where_a_machine_is_upgraded(self) -> None:
        found = self.packages(KUBERNETES_PACKAGES="kubeadm")
        self.assertEqual(["conntrack", "ethtool", "socat", "kubeadm=1.33.2-1.1"], found)
