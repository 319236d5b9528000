"""The script that installs a node's packages, with stand-ins for the machine's programs."""

import subprocess
import unittest

from tools.csar import build

SCRIPT = build.PACKAGES / "kubernetes/Scripts/install_k8s_cluster.sh"
# What the functions call; the machine has a container runtime already, and the packages of
# $INSTALLED.
STAND_INS = """
apt() { echo "apt $*"; }
containerd() { :; }
dpkg-query() {
    for found in ${INSTALLED:-}; do
        if [ "${found%=*}" = "${!#}" ]; then
            echo "installed ${found#*=}"
            return
        fi
    done
    return 1
}
package_version() { echo 1.33.2-1.1; }
"""
PROGRAMS = ["conntrack", "ethtool", "socat"]


class InstallTest(unittest.TestCase):
    def run_function(self, name: str, **settings: str) -> subprocess.CompletedProcess[str]:
        text = SCRIPT.read_text()
        constants = [line for line in text.splitlines() if line.startswith("readonly ")]
        # Lists are read before they become constants.
        constants[:0] = [line for line in text.splitlines() if line.startswith("read -ra ")]
        functions = text[text.index("wanted_versions() {") : text.index("configure_containerd() {")]
        lines = ["set -euo pipefail", *constants, functions, STAND_INS, name]
        return subprocess.run(
            ["bash", "-c", "\n".join(lines)],
            env={"CONTAINER_RUNTIME": "containerd", "KUBERNETES_VERSION": "1.33", **settings},
            capture_output=True,
            check=False,
            text=True,
        )

    def packages(self, **settings: str) -> list[str]:
        """The packages that the script installs."""
        (line,) = self.run_function("packages", **settings).stdout.splitlines()
        return [word for word in line.split()[2:] if not word.startswith("-")]

    def test_all_that_a_node_needs_is_installed_at_once(self) -> None:
        found = self.packages(EXTRA_PACKAGES="haproxy keepalived")
        versioned = [f"{name}=1.33.2-1.1" for name in ("kubeadm", "kubectl", "kubelet")]
        self.assertEqual([*PROGRAMS, "haproxy", "keepalived", *versioned], found)
        self.assertEqual([*PROGRAMS, *versioned], self.packages())

    def test_an_image_may_bring_all_packages(self) -> None:
        versioned = [f"{name}=1.33.2-1.1" for name in ("kubeadm", "kubectl", "kubelet")]
        brought = [*versioned, *(f"{name}=1" for name in (*PROGRAMS, "haproxy"))]
        for left_out, settings, status in (
            ("", {}, 0),
            ("", {"EXTRA_PACKAGES": "haproxy"}, 0),
            ("", {"EXTRA_PACKAGES": "keepalived"}, 1),
            ("", {"KUBERNETES_VERSION": "1.33.2"}, 0),
            ("", {"KUBERNETES_VERSION": "1.33.3"}, 1),
            ("", {"KUBERNETES_VERSION": "1.3"}, 1),
            ("kubelet", {}, 1),
            ("socat", {}, 1),
        ):
            with self.subTest(left_out=left_out, **settings):
                found = [name for name in brought if name.partition("=")[0] != left_out]
                ran = self.run_function("has_all", INSTALLED=" ".join(found), **settings)
                self.assertEqual((status, ""), (ran.returncode, ran.stderr))

    def test_kubeadm_comes_first_where_a_machine_is_upgraded(self) -> None:
        found = self.packages(KUBERNETES_PACKAGES="kubeadm")
        self.assertEqual([*PROGRAMS, "kubeadm=1.33.2-1.1"], found)
