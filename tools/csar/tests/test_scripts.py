"""The script that installs a node's packages, with stand-ins for the machine's programs."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import textwrap
import unittest
from pathlib import Path

from mgmt_drivers.cluster.packages.repository_params import PackageRepository
from tools.csar import build

SCRIPT = build.PACKAGES / "kubernetes/Scripts/install_k8s_cluster.sh"
# What the functions call; the machine has a container runtime already, and the packages of
# $INSTALLED.
STAND_INS = """
apt() { echo "apt $*"; }
apt-cache() { echo "kubeadm | 1.33.2-1.1 | http://mirror/apt Packages"; }
containerd() { :; }
ctr() { :; }
dpkg-query() {
    for found in ${INSTALLED:-}; do
        case " $* " in *" ${found%=*} "*) echo "installed ${found#*=}" ;; esac
    done
    return 1
}
"""
PROGRAMS = ["conntrack", "ethtool", "socat"]


class InstallTest(unittest.TestCase):
    def run_function(self, name: str, **settings: str) -> subprocess.CompletedProcess[str]:
        text = SCRIPT.read_text()
        constants = [line for line in text.splitlines() if line.startswith("readonly ")]
        # Lists are read before they become constants.
        constants[:0] = [line for line in text.splitlines() if line.startswith("read -ra ")]
        functions = text[text.index("wanted_versions() {") : text.index("containerd_config() {")]
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
            ("", {"KUBERNETES_PACKAGES": "kubeadm", "KUBERNETES_VERSION": "1.33.2"}, 0),
            # The repository may have a newer one.
            ("", {"KUBERNETES_PACKAGES": "kubeadm"}, 1),
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
        function = text[text.index("package_source() {") : text.index("# Of versions of packages")]
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


# By path: what a program does on the machine at $ROOT. containerd's dump shows the file as it is.
MACHINE = {
    "apt-mark": "",
    "containerd": """
        case "$*" in
        "config default") cat "$ROOT/default.toml" ;;
        *" config dump") cat "$2" ;;
        esac
    """,
    "ctr": "echo io.containerd.grpc.v1 cri linux/amd64 ok",
    "kubeadm": """
        [ "$1" = config ] && echo registry.k8s.io/pause:3.10 || echo v1.37.2
    """,
    "modprobe": 'echo "modprobe $*" >>"$ROOT/log"',
    "swapoff": "",
    # A limit of the whole kernel is not set for a container.
    "sysctl": """
        case "$*" in
        "-n "*) cat "$ROOT/proc/sys/${2//.//}" ;;
        *fs.inotify*) echo "$2" >>"$ROOT/log" && exit 1 ;;
        esac
    """,
    "systemctl": 'echo "systemctl $*" >>"$ROOT/log"',
}


class MachineTest(unittest.TestCase):
    """The whole script on a machine that has all packages, in a folder."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        for name, text in MACHINE.items():
            self.add_program(name, text)
        self.write("etc/fstab", "")
        self.write("etc/modules-load.d/x", "")
        self.write("etc/sysctl.d/x", "")
        self.write("proc/sys/net/bridge/bridge-nf-call-iptables", "1\n")
        self.set_limits(128, 16000)
        self.write("default.toml", DEFAULTS[2])
        self.install("1.37.2-1.1")
        self.settings = {
            "NODE_ROLE": "worker", "CONTAINER_RUNTIME": "containerd", "KUBERNETES_VERSION": "1.37",
            "PACKAGE_REPOSITORY": "http://mirror/apt/", "PATH": f"{self.root}/bin:{os.defpath}",
            "ROOT": str(self.root), "DPKG_ADMINDIR": str(self.root),
        }

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def add_program(self, name: str, text: str) -> None:
        self.write(f"bin/{name}", f"#!/bin/bash\n{textwrap.dedent(text)}").chmod(0o755)

    def read(self, path: str) -> str:
        return (self.root / path).read_text()

    def log(self) -> list[str]:
        """The commands since this was asked last."""
        lines = self.read("log").splitlines()
        self.write("log", "")
        return lines

    def set_limits(self, instances: int, watches: int) -> None:
        self.write("proc/sys/fs/inotify/max_user_instances", f"{instances}\n")
        self.write("proc/sys/fs/inotify/max_user_watches", f"{watches}\n")

    def install(self, version: str) -> None:
        """Let the machine have Kubernetes' packages, and those that they need."""
        versions = dict.fromkeys(("kubeadm", "kubectl", "kubelet"), version)
        versions |= dict.fromkeys(PROGRAMS, "1")
        self.write("status", "".join(package(name, v, installed=True)
                                     for name, v in versions.items()))

    def run_script(self, **settings: str) -> subprocess.CompletedProcess[str]:
        text = SCRIPT.read_text()
        for path in ("/etc/", "/opt/", "/proc/", "/usr/lib/cni"):
            text = text.replace(path, f"{self.root}{path}")
        return subprocess.run(
            ["bash", "-c", text], env={**self.settings, **settings},
            capture_output=True, check=False, text=True,
        )

    def run_well(self, **settings: str) -> None:
        ran = self.run_script(**settings)
        self.assertEqual((0, ""), (ran.returncode, ran.stderr), ran.stdout)


def package(name: str, version: str, *, installed: bool = False) -> str:
    """The paragraph of a package in an index, or in dpkg's status."""
    status = "Status: install ok installed\n" if installed else (
        f"Filename: ./{name}_{version}.deb\nSize: 1\nSHA256: {'0' * 64}\n")
    return (f"Package: {name}\n{status}Version: {version}\nArchitecture: all\n"
            f"Maintainer: nobody\nDescription: {name}\n\n")


# The part of containerd's default configuration that the script is about, by its version.
DEFAULTS = {
    2: """\
disabled_plugins = []
imports = []
version = 2

[plugins]

  [plugins."io.containerd.grpc.v1.cri"]
    sandbox_image = "registry.k8s.io/pause:3.8"

    [plugins."io.containerd.grpc.v1.cri".cni]
      bin_dir = "/usr/lib/cni"

    [plugins."io.containerd.grpc.v1.cri".containerd]
      default_runtime_name = "runc"

        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
          runtime_type = "io.containerd.runc.v2"

          [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
            SystemdCgroup = false

    [plugins."io.containerd.grpc.v1.cri".registry]
      config_path = ""

      [plugins."io.containerd.grpc.v1.cri".registry.mirrors]
""",
    3: """\
version = 3
disabled_plugins = []
imports = ['/etc/containerd/conf.d/*.toml']

[plugins]
  [plugins.'io.containerd.cri.v1.images']
    [plugins.'io.containerd.cri.v1.images'.pinned_images]
      sandbox = 'registry.k8s.io/pause:3.10.2'

    [plugins.'io.containerd.cri.v1.images'.registry]
      config_path = ''

  [plugins.'io.containerd.cri.v1.runtime']
    [plugins.'io.containerd.cri.v1.runtime'.containerd]
      default_runtime_name = 'runc'
        [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
          runtime_type = 'io.containerd.runc.v2'

          [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
            BinaryName = ''

    [plugins.'io.containerd.cri.v1.runtime'.cni]
      bin_dirs = ['/usr/lib/cni']

  [plugins.'io.containerd.image-verifier.v1.bindir']
    bin_dir = '/opt/containerd/image-verifier/bin'
""",
}
_CONFIG = "etc/containerd/config.toml"
_RESTART = "systemctl restart containerd"


@unittest.skipUnless(shutil.which("dpkg-query"), "no dpkg")
class ContainerdTest(MachineTest):
    """containerd's configuration, of which the script changes some keys only."""

    def configure(self, text: str) -> str:
        """The configuration after two runs of the script, of which the second changes nothing."""
        self.write(_CONFIG, text)
        self.run_well()
        self.assertIn(_RESTART, self.log())
        found = self.read(_CONFIG)
        self.run_well()
        self.assertNotIn(_RESTART, self.log())
        self.assertEqual(found, self.read(_CONFIG))
        return found

    def assert_ready(self, text: str) -> None:
        for key, value in (
            ("sandbox(_image)?", "'registry.k8s.io/pause:3.10'"),
            ("config_path", f"'{self.root}/etc/containerd/certs.d'"),
            ("bin_dirs?", rf"\[?'{self.root}/opt/cni/bin'\]?"),
            ("SystemdCgroup", "true"),
        ):
            self.assertRegex(text.replace('"', "'"), f"(?m)^ *{key} = {value}$")

    def test_what_the_owner_of_the_image_wrote_stays(self) -> None:
        for version, plugin in (
            (2, '"io.containerd.grpc.v1.cri"'), (3, "'io.containerd.cri.v1.runtime'"),
        ):
            with self.subTest(version=version):
                gpu = (f"[plugins.{plugin}.containerd.runtimes.nvidia.options]\n"
                       "BinaryName = '/usr/bin/nvidia-container-runtime'\n")
                text = DEFAULTS[version].replace("name = 'runc'", "name = 'nvidia'")
                found = self.configure(text + gpu)
                self.assert_ready(found)
                self.assertIn(gpu, found)
                before = [line for line in text.splitlines() if "plugins." in line]
                self.assertEqual(before, [line for line in found.splitlines()
                                          if "plugins." in line and "nvidia" not in line])
        self.assertIn("default_runtime_name = 'nvidia'", found)
        self.assertIn("bin_dir = '/opt/containerd/image-verifier/bin'",
                      found.replace(str(self.root), ""))

    def test_a_configuration_that_is_right_is_left_alone(self) -> None:
        found = "# by an operator of GPUs\n" + self.configure(DEFAULTS[2])
        self.write(_CONFIG, found)
        self.run_well()
        self.assertEqual(found, self.read(_CONFIG))
        self.assertEqual([], [line for line in self.log() if line == _RESTART])

    def test_without_a_file_the_defaults_are_changed(self) -> None:
        self.run_well()
        self.assertIn(_RESTART, self.log())
        self.assert_ready(self.read(_CONFIG))

    def test_a_cri_that_is_disabled_is_enabled(self) -> None:
        for given, left in (
            ('["cri"]', "[]"),
            ('["io.containerd.grpc.v1.cri", "aufs"]', '[ "aufs"]'),
            ("[\n  'aufs',\n  'cri',\n]", "[\n  'aufs',\n  \n]"),
        ):
            with self.subTest(given):
                text = DEFAULTS[2].replace("disabled_plugins = []", f"disabled_plugins = {given}")
                found = self.configure(text)
                self.assertIn(f"disabled_plugins = {left}\n", found)
                self.assert_ready(found)

    def test_mirrors_which_containerd_refuses_beside_a_folder_go(self) -> None:
        cri = '[plugins."io.containerd.grpc.v1.cri".registry'
        mirror = f'{cri}.mirrors."docker.io"]\nendpoint = ["https://mirror.example"]\n'
        login = f'{cri}.configs."mirror.example".auth]\nusername = "me"\n'
        tls = f'{cri}.configs."mirror.example".tls]\nca_file = "/ca"\n'
        found = self.configure(DEFAULTS[2] + mirror + login + tls)
        self.assertIn(login, found)
        self.assertNotIn('mirrors."docker.io"', found)
        self.assertNotIn("ca_file", found)

    @unittest.skipUnless(shutil.which("containerd"), "no containerd")
    def test_genuine_containerd_takes_the_file(self) -> None:
        (self.root / "bin/containerd").unlink()
        cri = '[plugins."io.containerd.grpc.v1.cri"'
        drop_in = self.write("conf.d/gpu.toml", f"""version = 2
{cri}.containerd.runtimes.nvidia]
runtime_type = "io.containerd.runc.v2"
{cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
""")
        self.write(_CONFIG, f"""version = 2
disabled_plugins = ["io.containerd.grpc.v1.cri"]
imports = ["{drop_in}"]
oom_score = -999
""")
        self.run_script()
        self.log()
        ran = self.run_script()
        self.assertEqual(0, ran.returncode, ran.stderr)
        self.assertNotIn(_RESTART, self.log())
        command = ["containerd", "--config", str(self.root / _CONFIG), "config", "dump"]
        found = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        self.assert_ready(found)
        self.assertIn(".containerd.runtimes.nvidia]", found)
        self.assertIn("oom_score = -999", found)


@unittest.skipUnless(shutil.which("dpkg-query"), "no dpkg")
class KernelTest(MachineTest):
    def settings_of_kernel(self) -> dict[str, str]:
        """Settings after a boot: files in the order of their names, with /etc/sysctl.conf."""
        found = {}
        for file in sorted((self.root / "etc/sysctl.d").iterdir()):
            for line in file.read_text().splitlines():
                name, _, value = line.partition("=")
                found[name.strip()] = value.strip()
        return found

    def test_the_nodes_settings_hold_after_a_boot(self) -> None:
        for name in ("99-hardening.conf", "99-sysctl.conf"):
            self.write(f"etc/sysctl.d/{name}",
                       "net.ipv4.ip_forward=0\nfs.inotify.max_user_instances = 128\n")
        self.run_well()
        found = self.settings_of_kernel()
        self.assertEqual("1", found["net.ipv4.ip_forward"])
        self.assertEqual("1", found["net.bridge.bridge-nf-call-ip6tables"])
        self.assertEqual("8192", found["fs.inotify.max_user_instances"])
        self.assertEqual("524288", found["fs.inotify.max_user_watches"])
        self.assertIn("fs.inotify.max_user_instances=8192", self.log())

    def test_a_higher_limit_stays(self) -> None:
        self.set_limits(128, 1048576)
        self.run_well()
        self.assertEqual("1048576", self.settings_of_kernel()["fs.inotify.max_user_watches"])

    def test_modules_are_loaded_now_and_at_each_boot(self) -> None:
        """kube-proxy sets limits of nf_conntrack as soon as it starts."""
        self.run_well()
        self.assertIn("modprobe --all overlay br_netfilter nf_conntrack", self.log())
        loaded = self.read("etc/modules-load.d/kubernetes.conf").split()
        self.assertEqual(["overlay", "br_netfilter", "nf_conntrack"], loaded)

    def test_swap_that_no_line_of_fstab_names(self) -> None:
        """Generators of systemd make units of zram and of partitions at each boot."""
        self.run_well()
        self.assertIn("systemctl mask --quiet swap.target", self.log())

    def test_lines_of_swap_in_fstab(self) -> None:
        swap = ["UUID=1 none swap sw 0 0", "  /swapfile none swap defaults",
                "\t/dev/vdb\tswap\tswap", "LABEL=swap none\tswap sw,pri=5 0 0"]
        kept = ["/dev/vda1 / ext4 defaults 0 1", "# /dev/vdb none swap sw 0 0",
                "  # swap none swap", "/dev/vdc /swap ext4 defaults 0 2", ""]
        self.write("etc/fstab", "\n".join([*swap, *kept]))
        for _ in range(2):
            self.run_well()
            self.assertEqual("\n".join([*(f"#{line}" for line in swap), *kept]),
                             self.read("etc/fstab"))


@unittest.skipUnless(shutil.which("apt-get") and shutil.which("gpg"), "no apt, or no GnuPG")
class AptTest(MachineTest):
    """Genuine apt with a repository in a folder. What it would install is told, and not done."""

    def setUp(self) -> None:
        super().setUp()
        for folder in ("lists/partial", "cache/archives/partial", "etc/apt/apt.conf.d",
                       "etc/apt/preferences.d", "etc/apt/sources.list.d"):
            (self.root / folder).mkdir(parents=True)
        self.write("etc/apt/sources.list", "")
        self.write("apt.conf", f"""
            Dir "{self.root}"; Dir::State "{self.root}"; Dir::State::status "{self.root}/status";
            Dir::Cache "cache"; APT::Sandbox::User ""; APT::Get::Simulate "true";
        """)
        self.settings |= {
            "APT_CONFIG": str(self.root / "apt.conf"), "KUBERNETES_VERSION": "1.37.2",
            "PACKAGE_REPOSITORY": f"copy:{self.root}/apt/",
        }
        (self.root / "gnupg").mkdir(mode=0o700)
        self.addCleanup(self.end_agent)
        # The key expires after a day, and the repository is signed before.
        self.gpg("--passphrase", "", "--quick-generate-key", "mirror", "ed25519", "sign", "1d")
        names = ("kubeadm", "kubectl", "kubelet")
        index = "".join(package(n, v) for n in names for v in ("1.37.2-1.1", "1.37.6-1.1"))
        self.write("apt/Packages", index)
        digest = hashlib.sha256(index.encode()).hexdigest()
        self.write("release", "Date: Wed, 01 Jan 2020 00:00:00 UTC\n"
                   f"SHA256:\n {digest} {len(index)} Packages\n")
        self.gpg("--clearsign", "--output", f"{self.root}/apt/InRelease", f"{self.root}/release")
        self.extend_key()

    def gpg(self, *words: str, minute: int = 0) -> str:
        time = f"20200101T00{minute:02}00!"
        command = ["gpg", "--batch", "--quiet", "--faked-system-time", time, *words]
        ran = subprocess.run(command, env=self.home(), capture_output=True, check=True, text=True)
        return ran.stdout

    def home(self) -> dict[str, str]:
        return {"GNUPGHOME": f"{self.root}/gnupg", "PATH": os.defpath}

    def end_agent(self) -> None:
        subprocess.run(["gpgconf", "--kill", "all"], env=self.home(), check=False)

    def publish_key(self) -> str:
        return self.write("apt/Release.key", self.gpg("--armor", "--export")).read_text()

    def extend_key(self) -> None:
        listed = self.gpg("--list-keys", "--with-colons").splitlines()
        (key,) = [line.split(":")[9] for line in listed if line[:2] == "fp"]  # its fingerprint
        self.expired = self.publish_key()
        self.gpg("--quick-set-expire", key, "0", minute=1)
        self.publish_key()

    def installed(self, **settings: str) -> list[str]:
        """The packages that apt would install, with their old and new versions."""
        ran = self.run_script(KUBERNETES_PACKAGES="kubeadm", **settings)
        self.assertEqual(0, ran.returncode, ran.stdout + ran.stderr)
        return re.findall(r"(?m)^Inst (\S+ \[\S+\] \(\S+)", ran.stdout)

    def test_an_upgrade_to_a_series_asks_for_the_newest(self) -> None:
        self.assertEqual([], self.installed())
        found = self.installed(KUBERNETES_VERSION="1.37")
        self.assertEqual(["kubeadm [1.37.2-1.1] (1.37.6-1.1"], found)

    def test_an_image_that_is_newer_than_the_cluster(self) -> None:
        self.install("1.37.6-1.1")
        self.assertEqual(["kubeadm [1.37.6-1.1] (1.37.2-1.1"], self.installed())

    def test_a_node_is_not_downgraded(self) -> None:
        self.install("1.37.6-1.1")
        self.write("etc/kubernetes/kubelet.conf", "")
        ran = self.run_script(KUBERNETES_PACKAGES="kubeadm")
        self.assertIn("without --allow-downgrades", ran.stderr)
        self.assertEqual(["kubeadm [1.37.6-1.1] (1.37.2-1.1"], self.installed(IS_NODE="no"))

    def test_a_key_that_its_owner_has_extended_is_fetched_again(self) -> None:
        url = self.settings["PACKAGE_REPOSITORY"]
        key = self.write("etc/apt/keyrings/kubernetes.asc", self.expired)
        self.write("etc/apt/sources.list.d/kubernetes.list", f"deb [signed-by={key}] {url} /\n")
        self.assertEqual(1, len(self.installed(KUBERNETES_VERSION="1.37.6")))
        key.write_text(self.expired)
        self.write("apt/Release.key", self.expired)
        ran = self.run_script(KUBERNETES_VERSION="1.37.6")
        self.assertNotEqual(0, ran.returncode)
        self.assertIn("signature", ran.stderr)

    def test_a_key_that_an_editor_of_windows_has_saved(self) -> None:
        """apt finds no key behind a byte order mark, or in lines that end in two characters."""
        file = self.root / "own.asc"
        text = self.read("apt/Release.key")
        file.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
        key = PackageRepository("http://mirror/apt/", file).read_key()
        self.assertEqual(text, (key or b"").decode())
        file.write_bytes(key or b"")
        found = self.installed(KUBERNETES_VERSION="1.37", PACKAGE_KEY=str(file))
        self.assertEqual(1, len(found))

    def test_an_entry_of_the_image_for_the_same_url(self) -> None:
        url = self.settings["PACKAGE_REPOSITORY"]
        other = self.write("other.asc", self.expired)
        rest = f"URIs: {url}debian/\nSuites: /\nTypes: deb\nEnabled: no\n"
        for name, text, left in (
            ("kubernetes.sources",
             f"# of the image\nTypes: deb\nURIs: {url}\nSuites: /\nSigned-By: {other}\n\n{rest}",
             rest),
            ("k8s.list", f"# deb x\ndeb [signed-by={other}] {url.rstrip('/')} /\n", "# deb x\n"),
        ):
            with self.subTest(name):
                file = self.write(f"etc/apt/sources.list.d/{name}", text)
                self.assertEqual(1, len(self.installed(KUBERNETES_VERSION="1.37.6")))
                self.assertEqual(left.strip(), file.read_text().strip())
                file.unlink()
