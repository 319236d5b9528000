"""The script that installs a node's packages, with stand-ins for the machine's programs."""

import subprocess
import tempfile
import unittest
from pathlib import Path

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

    def fetched(self, helper: str) -> tuple[str, str]:
        """What the script says, and has then as the repository's key."""
        text = SCRIPT.read_text()
        function = text[text.index("package_source() {") : text.index("# The newest version of")]
        fail = text[text.index("fail() {") : text.index("apt() {")]
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "apt-helper")
            program.write_text(f"#!/bin/bash\n{helper}\n")
            program.chmod(0o755)
            function = function.replace("/usr/lib/apt/apt-helper", str(program))
            function = function.replace("timeout 120", "timeout 1")
            constants = f"KEYRING={folder}/key; SOURCE={folder}/source; PACKAGE_REPOSITORY=http://x/"
            lines = ["set -euo pipefail", constants, STAND_INS, fail, function, "package_source"]
            done = subprocess.run(
                ["bash", "-c", "\n".join(lines)], capture_output=True, text=True, timeout=30
            )
            key = Path(folder, "key")
            return done.stderr, key.read_text() if key.exists() else ""

    def test_the_download_of_a_key_has_limits(self) -> None:
        self.assertEqual(("", "a key\n"), self.fetched('echo "a key" >"$3"'))
        for helper in ('exec yes >"$3"', 'echo half >"$3"; exec sleep 20'):
            said, key = self.fetched(helper)
            self.assertIn("cannot fetch the key of http://x/", said)
            self.assertEqual("", key)
