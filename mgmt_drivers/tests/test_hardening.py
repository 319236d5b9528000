"""Hardening: the settings by series, the scripts, and clusters that are made and kept with them."""

import base64
import os
import re
import stat
import subprocess
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from mgmt_drivers import package_yaml
from mgmt_drivers.cluster.backup import backup
from mgmt_drivers.cluster.certificates.certificates import PENDING
from mgmt_drivers.cluster.cluster_params import CIS
from mgmt_drivers.cluster.hardening import encryption, hardening
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import MgmtDriverError, ParameterError
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.operations import modify, scale_out
from mgmt_drivers.secret import Secret
from mgmt_drivers.testing.fake_cluster import FLANNEL, params
from mgmt_drivers.testing.fakes import fake_host
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    PARAMS,
    STORAGE,
    SimulatedClusterTest,
    new_node,
)
from mgmt_drivers.testing.simulated_world import ENCRYPTION, SYSCTLS, Machine
from mgmt_drivers.testing.simulation import SimulatedSession
from mgmt_drivers.tests.test_faults import FaultsTestCase
from mgmt_drivers.tests.test_upgrade import UpgradableClusterTest

_SCRIPTS = Path(hardening.__file__).parent
_BACKUPS = Path(backup.__file__).parent
_FILES = "/etc/kubernetes/apiserver/"
_CA = "/etc/kubernetes/pki/ca.crt"
_SECRET = base64.b64encode(b"k" * 32).decode()


class SettingsTest(unittest.TestCase):
    def test_a_series_gets_what_it_knows(self) -> None:
        for series, has_conditions, has_seccomp in (
            ("1.20", False, False), ("1.25", False, True), ("1.31", False, True),
            ("1.32", True, True), ("1.37", True, True),
        ):
            made = params(version=series)
            api = hardening.settings("apiServer", made)
            self.assertEqual(has_conditions, "authentication-config" in api, series)
            self.assertEqual(has_seccomp, "seccompDefault" in hardening.settings("kubelet", made))
            for component in ("apiServer", "controllerManager", "scheduler"):
                self.assertEqual("false", hardening.settings(component, made)["profiling"])

    def test_what_changes_what_workloads_may_do_is_asked_for(self) -> None:
        names = {"admission-control-config-file", "enable-admission-plugins"}
        for series in ("1.20", "1.37"):
            plain, cis = (params(version=series, hardening=value) for value in (None, CIS))
            before = hardening.settings("apiServer", plain)
            after = hardening.settings("apiServer", cis)
            self.assertEqual(names, after.keys() - before.keys())
            self.assertEqual(series != "1.20", "ExternalIPs" in after["enable-admission-plugins"])
            self.assertIn("NodeRestriction,", after["enable-admission-plugins"])
            before, after = (hardening.settings("kubelet", made) for made in (plain, cis))
            self.assertEqual({"protectKernelDefaults"}, after.keys() - before.keys())

    def test_the_pod_network_of_the_package_is_not_refused(self) -> None:
        *_, file = hardening.control_plane_files(params(version="1.37", hardening=CIS))
        (_, pods) = yaml.safe_load(str(file.content))["plugins"]
        self.assertEqual("baseline", pods["configuration"]["defaults"]["enforce"])
        objects = package_yaml.load_all(FLANNEL.read_text())
        (space,) = [o["metadata"] for o in objects if o["kind"] == "Namespace"]
        self.assertEqual("privileged", space["labels"]["pod-security.kubernetes.io/enforce"])

    def test_files_are_those_that_arguments_name(self) -> None:
        for series, asked in (("1.20", None), ("1.37", None), ("1.20", CIS), ("1.37", CIS)):
            made = params(version=series, hardening=asked)
            files = hardening.control_plane_files(made)
            self.assertEqual({"0600"}, {file.mode for file in files})
            named = {value for value in hardening.settings("apiServer", made).values()
                     if value.startswith("/") and not value.startswith("/var/log/")}
            self.assertEqual(named, {file.path for file in files} | {ENCRYPTION, _CA})
            mounted = {volume["mountPath"] for volume in hardening.volumes()}
            self.assertLessEqual({str(Path(file.path).parent) for file in files}, mounted)

    def test_the_audit_log_has_no_content_of_secrets(self) -> None:
        (policy, *_) = [yaml.safe_load(str(file.content))
                        for file in hardening.control_plane_files(params(version="1.37"))]
        self.assertEqual({"Metadata", "None"}, {rule["level"] for rule in policy["rules"]})
        first = policy["rules"][0]
        self.assertEqual("Metadata", first["level"])
        self.assertIn("secrets", first["resources"][0]["resources"])
        self.assertEqual({"level": "Metadata"}, policy["rules"][-1])

    def test_the_key_is_masked_and_the_file_is_one_document(self) -> None:
        host, session = fake_host()
        session.expect("sudo", "read-file", ENCRYPTION, stdout=f"keys:\n- secret: {_SECRET}\n")
        found = encryption.read_file(host)
        self.assertEqual(f"keys:\n- secret: {_SECRET}\n", found and found.reveal())
        self.assertEqual([_SECRET], session.hidden)
        session.expect("sudo", "read-file", ENCRYPTION)
        self.assertIsNone(encryption.read_file(host))
        session.expect("sudo", "read-file", ENCRYPTION, stdout="a: 1\n---\nb: 2\n")
        with self.assertRaisesRegex(MgmtDriverError, "one document"):
            encryption.read_file(host)


class ScriptsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.file = self.root / "pki/encryption.yaml"

    def run_script(
        self, name: str, *words: str, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        text = (_SCRIPTS / f"{name}.sh").read_text()
        for path in ("/etc/", "/var/lib/", "/proc/"):
            text = text.replace(path, f"{self.root}{path}")
        path = f"{self.root}/bin:{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-c", text, name, *words], env={"PATH": path}, input=stdin, text=True,
            capture_output=True, timeout=60,
        )

    def test_a_new_cluster_gets_a_key_and_keeps_it(self) -> None:
        for _ in range(2):
            ran = self.run_script("encryption-key", "new", str(self.file), "cat", stdin="config\n")
            self.assertEqual((0, "config\n", ""), (ran.returncode, ran.stdout, ran.stderr))
            text = self.file.read_text()
        self.assertEqual(text, self.file.read_text())
        self.assertEqual(0o600, stat.S_IMODE(self.file.stat().st_mode))
        made = yaml.safe_load(text)
        self.assertEqual(["secrets"], made["resources"][0]["resources"])
        box, identity = made["resources"][0]["providers"]
        self.assertEqual(32, len(base64.b64decode(box["secretbox"]["keys"][0]["secret"])))
        self.assertEqual({"identity": {}}, identity)  # what was there before stays readable
        self.assertEqual([self.file], [*self.file.parent.iterdir()])

    def test_a_node_that_joins_gets_that_of_the_leader(self) -> None:
        self.file.parent.mkdir()
        self.file.write_text("of an image")
        ran = self.run_script(
            "encryption-key", "joined", str(self.file), "cat", stdin="a: 1\nb: 2\n---\nconfig\n"
        )
        self.assertEqual((0, "config\n"), (ran.returncode, ran.stdout), ran.stderr)
        cut = self.run_script("encryption-key", "joined", str(self.file), "cat", stdin="a: 1\n")
        self.assertEqual((1, ""), (cut.returncode, cut.stdout), cut.stderr)
        self.assertEqual("a: 1\nb: 2\n", self.file.read_text())
        self.assertEqual(0o600, stat.S_IMODE(self.file.stat().st_mode))

    def test_files_are_for_root_alone_and_no_kubeconfig_is_above_rbac(self) -> None:
        units = self.root / "units"
        paths = [
            self.root / "etc/kubernetes/admin.conf", self.root / "var/lib/kubelet/config.yaml",
            self.root / "etc/cni/net.d/10-flannel.conflist", units / "kubelet.service",
            units / "10-kubeadm.conf", units / "20-more.conf",
        ]
        super_admin = self.root / "etc/kubernetes/super-admin.conf"
        systemctl = self.root / "bin/systemctl"
        for path in (*paths, super_admin, systemctl):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(0o644)
        systemctl.write_text(
            f"#!/bin/sh\necho FragmentPath={units}/kubelet.service\n"
            f"echo DropInPaths={units}/10-kubeadm.conf {units}/20-more.conf\n"
        )
        systemctl.chmod(0o755)
        ran = self.run_script("restrict-files", "cat", stdin="config\n")
        self.assertEqual((0, "config\n"), (ran.returncode, ran.stdout), ran.stderr)
        self.assertEqual({0o600}, {stat.S_IMODE(path.stat().st_mode) for path in paths})
        self.assertFalse(super_admin.exists())
        self.assertEqual(0, self.run_script("restrict-files").returncode)
        self.assertEqual(3, self.run_script("restrict-files", "sh", "-c", "exit 3").returncode)


    def test_all_secrets_are_written_again(self) -> None:
        """A Secret that somebody changes meanwhile lets all be read and written once more."""
        kubectl = self.root / "bin/kubectl"
        kubectl.parent.mkdir()
        kubectl.write_text(
            '#!/bin/bash\necho "$*" >>"$0.log"\n'
            'if [ "$2" = get ]; then echo "objects"; exit; fi\n'
            'read -r objects\n[ "$objects" = objects ] || exit 9\n'
            '[ "$(grep -c replace "$0.log")" -le "$(cat "$0.conflicts")" ] || exit 0\n'
            'echo "object has been modified" >&2; echo "secret/x replaced"; exit 1\n'
        )
        kubectl.chmod(0o755)
        for conflicts, status, errors in ((0, 0, ""), (2, 0, ""), (9, 1, "object has been mod")):
            (self.root / "bin/kubectl.conflicts").write_text(f"{conflicts}")
            (self.root / "bin/kubectl.log").unlink(missing_ok=True)
            ran = self.run_script("../nodes/rewrite-objects", "secrets", "kubectl", "--server=x")
            self.assertEqual((status, ""), (ran.returncode, ran.stdout))
            self.assertTrue(ran.stderr.startswith(errors), ran.stderr)
            calls = (self.root / "bin/kubectl.log").read_text().splitlines()
            self.assertEqual(2 * min(conflicts + 1, 5), len(calls))
            self.assertIn("--server=x get secrets --all-namespaces --output json", calls)

    def test_the_kernel_is_as_kubelet_wants_it(self) -> None:
        names = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
                 "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes")
        paths = [self.root / "proc/sys" / name for name in names]
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("0\n")
        (self.root / "etc/sysctl.d").mkdir(parents=True)
        self.assertEqual(0, self.run_script("kernel-defaults").returncode)
        values = [path.read_text().strip() for path in paths]
        self.assertEqual(["1", "0", "10", "1", "1000000", "25000000"], values)
        kept = (self.root / "etc/sysctl.d/90-kubelet.conf").read_text().splitlines()
        self.assertEqual(values, [line.partition(" = ")[2] for line in kept])
        paths[2].unlink()
        paths[2].mkdir()  # nobody can write it
        ran = self.run_script("kernel-defaults")
        self.assertEqual(1, ran.returncode)
        self.assertIn("does not let kernel.panic be 10", ran.stderr)


class KeptTest(SimulatedClusterTest):
    """The simulated kubeadm refuses to start an apiserver without the files of its arguments."""

    def make(self, version: str, **changes: Any) -> None:
        self.params = {**PARAMS, "kubernetes_version": version, **changes}
        self.build(is_clustered=False)
        self.world.have(f"v{version}")
        self.instantiate(self.services())

    def masters(self) -> list[Machine]:
        return [machine for machine in self.world.machines.values() if machine.role == "master"]

    def assert_one_key(self) -> None:
        self.assertEqual(1, len({machine.files[ENCRYPTION] for machine in self.masters()}))

    def scale_out(self, *addresses: str) -> None:
        for number, address in enumerate(addresses, start=100):
            self.arrive(new_node("master", number, address))
        request = self.request(*self.ids(*addresses))
        scale_out.scale_out(request, self.services(), self.vims)

    def test_nodes_that_come_get_what_the_first_one_has(self) -> None:
        for version in ("1.20.2", "1.37.2"):
            with self.subTest(version):
                self.make(version)
                self.assertEqual("false", self.world.settings["profiling"])
                self.scale_out("10.10.0.12", "10.10.0.121")
                target = self.machine(MASTERS[0]).node
                request = self.request(target.vnfc_id)
                self.heal_start(request, self.services())
                self.replaced(target)
                self.heal_end(self.request(target.vnfc_id), self.services())
                self.assertEqual(5, len(self.masters()))
                self.assert_one_key()
                files = [{path for path in machine.files if path.startswith(_FILES)}
                         for machine in self.masters()]
                self.assertEqual(1 if version == "1.20.2" else 2, len(files[0]))
                self.assertEqual([files[0]] * 5, files)

    def test_nodes_of_a_cluster_that_asks_for_more(self) -> None:
        self.make("1.37.2", hardening="cis")
        self.arrive(new_node("worker", 20, "10.10.0.20"))
        self.scale_out("10.10.0.12", "10.10.0.121")
        request = self.request(*self.ids("10.10.0.20"))
        scale_out.scale_out(request, self.services(), self.vims)
        self.assert_whole(5, 3)
        self.assertIn(f"{_FILES}admission.yaml", self.machine("10.10.0.12").files)
        machines = self.world.machines.values()
        lacking = [m.name for m in machines if SYSCTLS not in m.files and m.role != "storage"]
        self.assertEqual([], lacking)

    def test_a_cluster_of_earlier_drivers_encrypts_nothing(self) -> None:
        self.build()
        self.scale_out("10.10.0.12", "10.10.0.121")
        self.assertEqual([], [m for m in self.masters() if ENCRYPTION in m.files])


class RotationTest(FaultsTestCase):
    """No simulated apiserver ever lacks a key by which another one encrypts Secrets."""

    def setUp(self) -> None:
        super().setUp()
        self.build()

    def build(self, is_clustered: bool = True) -> None:
        """Nodes with the first key, and apiservers that have read it."""
        super().build()
        for address in MASTERS:
            self.give(address, 1)
        self.world.write_secrets()

    def give(self, address: str, *numbers: int) -> None:
        machine = self.machine(address)
        text = package_yaml.dump(encryption._document([_key(number) for number in numbers]))
        machine.files[ENCRYPTION] = (text.encode(), "600")
        machine.start("kube-apiserver")

    def rotate(self, services: Services | None = None) -> None:
        wanted = {"rotate_encryption_key": True}
        modify.modify(self.request(), services or self.services(), self.vims, wanted)

    def names(self) -> list[list[str]]:
        """The names of the keys of each control-plane node."""
        texts = [self.machine(address).files[ENCRYPTION][0].decode() for address in MASTERS]
        return [re.findall("name: (key[0-9]+)", text) for text in texts]  # not in random values

    def assert_rotated(self, name: str) -> None:
        """The key has another value on all nodes, the apiservers use it, and none must restart."""
        self.assertEqual([[name]] * 3, self.names())
        machines = [self.machine(address) for address in MASTERS]
        (keys,) = {(*machine.keys_of_secrets,) for machine in machines}
        self.assertEqual({*keys}, self.world.encrypting)
        self.assertNotIn(_key(1).secret.reveal(), keys)
        self.assertEqual([], [m.name for m in machines if PENDING in m.files])

    def test_all_secrets_have_a_new_key(self) -> None:
        self.rotate()
        self.assert_rotated("key2")
        self.rotate()
        self.assert_rotated("key3")

    def test_a_rotation_goes_on_wherever_it_was_broken_off(self) -> None:
        """Also with another leader, and a node that came meanwhile with the leader's file."""
        for lists in (
            ((1, 2), (1,), (1,)), ((1,), (1, 2), (1,)), ((2, 1), (1, 2), (1, 2)),
            ((1, 2), (2, 1), (2, 1)), ((2,), (2, 1), (2,)), ((2, 1), (2,), (2,)),
        ):
            with self.subTest(lists):
                super().build()
                for address, numbers in zip(MASTERS, lists, strict=True):
                    self.give(address, *numbers)
                self.world.encrypting.clear()
                self.rotate()
                self.assert_rotated("key2")
                self.assertEqual({_key(2).secret.reveal()}, self.world.encrypting)

    def test_no_key_leaves_while_a_backup_is_saved_or_with_a_connection(self) -> None:
        ran: list[tuple[str, str]] = []

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            if argv[0] == "flock" and ENCRYPTION in argv:
                ran.append((argv[1], argv[argv.index(ENCRYPTION) - 1]))

        self.rotate(self.services(note))
        # By the script that keeps the old file unless the new one has come as a whole.
        self.assertEqual([(f"{STATE_FOLDER}/etcd-backup.lock", "write-files")] * 9, ran)
        self.assertIn('"$here/etcd-backup.lock"', (_BACKUPS / "etcd-backup.sh").read_text())

    def test_a_backup_has_the_new_key(self) -> None:
        self.params = {**PARAMS, "etcd_backup": {"folder": "/var/backups/etcd"}}
        super().build(is_clustered=False)
        self.instantiate(self.services())
        saved = self.machine(MASTERS[0]).backups
        before = len(saved)
        self.rotate()
        self.assertEqual(before + 1, len(saved))

    def test_what_is_refused_before_anything_changes(self) -> None:
        def text(key: str) -> str:
            return self.machine(MASTERS[1]).files[ENCRYPTION][0].decode().replace("key1", key)

        for content, words in (
            ("", "does not encrypt Secrets"), (text("mine"), "other providers than the drivers"),
            ("a: [", "other providers"), ("resources: 1", "other providers"),
            (text("key1").replace("identity", "kms"), "other providers"),
            (text("key1").replace("NDQ0", "AAAA").replace("MTEx", "AAAA"), "different keys of one"),
        ):
            with self.subTest(content):
                self.build()
                self.machine(MASTERS[1]).files[ENCRYPTION] = (content.encode(), "600")
                with self.assertRaisesRegex(MgmtDriverError, words) as caught:
                    self.rotate()
                self.assertNotIn("MTEx", str(caught.exception))
                self.assertEqual(["key1"], self.names()[0])

    def test_a_machine_that_has_not_joined(self) -> None:
        """Its lack of the file does not mean that the cluster encrypts nothing."""
        stranger = self.machine(MASTERS[1])
        del stranger.files[ENCRYPTION], self.world.nodes[stranger.name]
        with self.assertRaisesRegex(MgmtDriverError, f"{stranger.name} is not ready.*Heal the mac"):
            self.rotate()

    def test_it_is_a_request_of_its_own(self) -> None:
        wanted = {"rotate_encryption_key": True, "drain_timeout": "1h"}
        with self.assertRaisesRegex(ParameterError, "drain_timeout: cannot be combined with rot"):
            modify.modify(self.request(), self.services(), self.vims, wanted)

    def test_faults(self) -> None:
        def story(number: int, fault: str) -> bool:
            struck = self.cured(self.rotate, number, fault)
            (name,) = {*map(tuple, self.names())}
            self.assertIn(name, (("key2",), ("key3",)))  # a fault may strike behind the end
            self.assert_rotated(*name)
            return struck

        self.assertGreater(self.all_faults(story), 150)


def _key(number: int) -> encryption.Key:
    return encryption.Key(number, Secret(base64.b64encode(f"{number}".encode() * 32).decode()))


class UpgradeTest(UpgradableClusterTest):
    def test_an_upgrade_gives_nodes_the_files_before_kubeadm(self) -> None:
        """An image or somebody may have removed them."""
        self.build(is_clustered=False)
        self.instantiate(self.services())
        masters = [self.machine(address) for address in MASTERS]
        for machine in masters:
            del machine.files[f"{_FILES}audit-policy.yaml"]
        self.modify()
        self.assert_upgraded()
        self.assertTrue(all(f"{_FILES}audit-policy.yaml" in m.files for m in masters))

    def test_a_cluster_of_earlier_drivers_is_upgraded(self) -> None:
        self.build()
        self.modify()
        self.assert_upgraded()
        self.assertEqual([], [m for m in map(self.machine, MASTERS) if ENCRYPTION in m.files])
        self.assertNotIn(f"{_FILES}audit-policy.yaml", self.machine(STORAGE).files)
