"""The script that installs a node's packages, with stand-ins for the machine's programs."""

import subprocess
import tempfile
import unittest
from pathlib import Path

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
        function = text[text.index("packages() {") : text.index("configure_containerd() {")]
        lines = ["set -euo pipefail", *constants, STAND_INS, function, "packages"]
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
