"""Helm: what asks for it, how it comes onto control-plane nodes, and what Tacker is told."""

import base64
import hashlib
import io
import json
import logging
import os
import shutil
import subprocess
import tarfile
import tempfile
import unittest
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import paramiko
import yaml

from mgmt_drivers.cluster.access.service_account import Credentials
from mgmt_drivers.cluster.cluster_checks import read_params
from mgmt_drivers.cluster.cluster_params import KubernetesParams
from mgmt_drivers.cluster.helm import helm
from mgmt_drivers.cluster.helm.helm_params import Helm
from mgmt_drivers.cluster.helm.helm_phases import InstallHelm
from mgmt_drivers.cluster.packages import node_packages
from mgmt_drivers.errors import MgmtDriverError, ParameterError
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script
from mgmt_drivers.operations import instantiate
from mgmt_drivers.operations.groups import prepare
from mgmt_drivers.params.login import SshLogin
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh.session import Result
from mgmt_drivers.tacker.vims_v2 import InstanceVims
from mgmt_drivers.testing.fakes import NODE, named
from mgmt_drivers.testing.simulated_cloud import MASTERS, PARAMS, SimulatedClusterTest, helm_archive
from mgmt_drivers.testing.simulated_world import (
    ACCOUNT_TOKEN,
    CHARTS,
    HELM,
    HELM_CONFIG,
    KUBECONFIG,
)
from mgmt_drivers.tests.test_kubernetes_phases import PhaseTest
from mgmt_drivers.tests.test_kubernetes_phases import _secret_of_account as account
from mgmt_drivers.vim import HelmAccess, Vim

_NAME = "k8s_cluster_installation_param"
_STATE = "/var/lib/tacker-mgmt-drivers"


class ParametersTest(SimulatedClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.build()

    def read(self, **changes: Any) -> KubernetesParams:
        wanted = {key: value for key, value in PARAMS.items() if key != "helm"}
        self.params = {**wanted, **changes}
        return read_params(self.request())

    def refused(self, words: str, **changes: Any) -> None:
        with self.assertRaisesRegex(ParameterError, words):
            self.read(**changes)

    def test_nobody_asks(self) -> None:
        self.assertIsNone(self.read().helm)
        self.assertIsNone(self.read(helm=None).helm)

    def test_where_it_comes_from(self) -> None:
        self.assertEqual(Helm(), self.read(helm={}).helm)
        script = self.read(helm_installation_script_path="install_k8s_cluster.sh").helm
        self.assertEqual(Helm(script=self.package.resolve() / "install_k8s_cluster.sh"), script)
        found = self.read(helm={"archive_path": "helm.tar.gz"}).helm
        assert found and found.archive
        self.assertEqual("linux-amd64/helm", found.archive.member)
        digest = hashlib.sha256((self.package / "helm.tar.gz").read_bytes()).hexdigest()
        self.assertEqual(digest, found.archive.sha256)

    def test_two_sources(self) -> None:
        script = "install_k8s_cluster.sh"
        path = f"{_NAME}.helm_installation_script_path"
        self.refused(f"{path}: cannot be combined", helm={}, helm_installation_script_path=script)

    def test_files_that_are_none_of_the_package(self) -> None:
        for name in ("/etc/passwd", "../x/../../etc/passwd", "missing"):
            self.refused("helm.archive_path: .*", helm={"archive_path": name})
            self.refused("helm_installation_script_path: .*", helm_installation_script_path=name)

    def test_unknown_keys(self) -> None:
        self.refused(r"helm\.version: unknown parameter", helm={"version": "3"})
        self.refused(r"helm: must be an object", helm=True)

    def test_archives_that_are_not_helms(self) -> None:
        good = helm_archive()
        bad = {
            "no archive": b"helm",
            "empty": b"",
            "cut": good[: len(good) // 2],
            "another program": helm_archive("linux-amd64/tiller"),
            "two programs": helm_archive("linux-amd64/helm", "linux-arm64/helm"),
            "outside": helm_archive("../helm"),
            "an option": helm_archive("--to-command=id/helm"),
            "too deep": helm_archive("a/b/helm"),
        }
        for what, content in bad.items():
            with self.subTest(what):
                (self.package / "bad.tar.gz").write_bytes(content)
                words = r"helm\.archive_path: is not an archive of Helm"
                self.refused(words, helm={"archive_path": "bad.tar.gz"})

    def test_tacker_logs_in_by_password(self) -> None:
        """Only its v1 API does; without Helm nobody needs one."""
        text = io.StringIO()
        paramiko.ECDSAKey.generate().write_private_key(text)
        master = {**PARAMS["master_node"], "private_key": text.getvalue()}
        del master["password"]
        with self.assertRaisesRegex(ParameterError, r"master_node\.password: missing: .*v1"):
            self.validate(helm={}, master_node=master)
        self.vims.log_in_for_helm = False
        self.validate(helm={}, master_node=master)
        self.vims.log_in_for_helm = True
        self.validate(master_node=master)

    def test_one_password_for_several_groups_is_warned_of(self) -> None:
        logging.disable(logging.NOTSET)
        with self.assertLogs("mgmt_drivers", "WARNING") as logs:
            self.validate()
        self.assertRegex(logs.output[0], "VNF vnf-1: groups of machines have the same password")
        own = {
            name: {**self.params[name], "password": f"of {name}"}
            for name in ("worker_node", "storage_server")
        }
        with self.assertNoLogs("mgmt_drivers", "WARNING"):
            self.validate(**own)

    def validate(self, **changes: Any) -> None:
        self.read(**changes)
        instantiate.validate(self.request(), self.vims)


class OperationsTest(SimulatedClusterTest):
    def instantiated(self, **changes: Any) -> None:
        self.params = {**{k: v for k, v in PARAMS.items() if k != "helm"}, **changes}
        self.build(is_clustered=False)
        self.instantiate(self.services())

    def having(self, path: str) -> list[str]:
        machines = self.world.machines.values()
        return [machine.address for machine in machines if path in machine.files]

    def test_without_the_parameter_nothing_changes(self) -> None:
        self.instantiated()
        self.assertEqual([], self.having(HELM) + self.having(HELM_CONFIG))
        self.assertEqual([*MASTERS], self.having(KUBECONFIG))
        (vim,) = self.vims.registered.values()
        self.assertIsNone(vim.helm)

    def test_a_package_of_the_package_sources(self) -> None:
        self.instantiated(helm={})
        machines = self.world.machines.values()
        self.assertEqual([*MASTERS], [m.address for m in machines if "helm" in m.packages])
        self.assertEqual([*MASTERS], self.having(HELM_CONFIG))
        self.assertEqual([], self.having(KUBECONFIG))  # which would be the same file

    def test_a_script(self) -> None:
        (self.package / "install_helm.sh").write_text("#!/bin/sh\n")
        self.instantiated(helm_installation_script_path="install_helm.sh")
        self.assertEqual([*MASTERS], self.having(HELM))
        self.assertEqual([*MASTERS], self.having(f"{_STATE}/install_helm.sh"))

    def test_helm_is_seen_to_work(self) -> None:
        self.params = {**PARAMS, "helm": {}}
        self.build(is_clustered=False)
        forget = self.forgetting("helm")
        with self.assertRaisesRegex(MgmtDriverError, "Helm does not work .*helm: command not f"):
            self.instantiate(self.services(before=forget))
        self.assertEqual({}, self.vims.registered)

    def forgetting(self, package: str) -> Callable[..., None]:
        def before(session: Any, argv: Any) -> None:
            session.machine.packages.discard(package)

        return before

    def test_a_login_that_may_not_do_all(self) -> None:
        """Is refused before anything is changed, and only where Tacker logs in."""
        self.params = PARAMS
        self.build(is_clustered=False)
        for machine in self.world.machines.values():
            machine.sudo_asks = True
        with self.assertRaisesRegex(MgmtDriverError, "without a password"):
            self.instantiate(self.services())
        self.assertTrue(all(not m.files and not m.packages for m in self.world.machines.values()))
        self.vims.log_in_for_helm = False
        self.instantiate(self.services())

    def test_the_config_is_the_vims(self) -> None:
        self.instantiated(helm={})
        config = yaml.safe_load(self.machine(MASTERS[1]).files[HELM_CONFIG][0])
        (cluster,) = config["clusters"]
        self.assertEqual("https://10.10.0.110:16443", cluster["cluster"]["server"])
        self.assertEqual(b"c", base64.b64decode(cluster["cluster"]["certificate-authority-data"]))
        (user,) = config["users"]
        self.assertEqual({"token": ACCOUNT_TOKEN}, user["user"])
        names = {user["name"], config["current-context"], config["contexts"][0]["name"]}
        self.assertEqual({"tacker-vim"}, names | {config["contexts"][0]["context"]["user"]})

    def test_a_worker_is_healed_and_helm_is_not_concerned(self) -> None:
        self.build()
        worker = next(m for m in self.world.machines.values() if m.role == "worker")
        self.heal(worker.node)
        self.assertEqual([], self.vims.moved)
        self.assertEqual([], self.having(HELM_CONFIG))

    def test_a_master_without_charts_gets_none(self) -> None:
        self.build()
        for machine in self.world.machines.values():
            machine.files.pop(CHARTS, None)
        self.heal(self.machine(MASTERS[0]).node)
        self.assertEqual([], self.having(CHARTS))

    def heal(self, target: Node) -> None:
        self.heal_start(self.request(target.vnfc_id), self.services())
        self.replaced(target)
        self.heal_end(self.request(target.vnfc_id), self.services())


class InstallTest(PhaseTest):
    """The commands, word by word."""

    def test_only_the_control_plane(self) -> None:
        for settings, number in ((Helm(script=Path(__file__)), 1), (Helm(), 0)):
            self.make(workers=1, helm=settings)
            works = prepare(self.cluster, self.hosts, [])
            (lanes,) = (w.lanes for w in works if isinstance(w.phases[0], InstallHelm))
            self.assertEqual(self.hosts[:number], [host for lane in lanes for host in lane])
        needed = [node_packages.needed(host, self.cluster) for host in self.hosts]
        self.assertEqual([["helm"], []], needed)

    def install_by_script(self, *command: str, **changes: Any) -> None:
        self.make(workers=0, helm=Helm(script=Path(__file__)), **changes)
        session = self.sessions[0]
        session.expect("sudo", "digest-files", f"{_STATE}/helm", status=1)
        session.expect_new_file(f"{_STATE}/install_helm.sh")
        session.expect("sudo", *command, "flock", f"{_STATE}/install.lock")
        session.expect_new_file(f"{_STATE}/helm")
        self.run_on(0, InstallHelm())

    def test_a_script(self) -> None:
        self.install_by_script()

    def test_a_script_through_the_proxy(self) -> None:
        proxy = Proxy(Secret("http://me:Pl4nted@proxy:3128"))
        self.install_by_script("through-proxy", f"{_STATE}/proxy.env", proxy=proxy)

    def test_a_script_that_fails(self) -> None:
        self.make(workers=0, helm=Helm(script=Path(__file__)))
        session = self.sessions[0]
        session.expect("sudo", "digest-files", f"{_STATE}/helm", status=1)
        session.expect_new_file(f"{_STATE}/install_helm.sh")
        session.expect("sudo", "flock", status=4, stderr="no route")
        with self.assertRaisesRegex(MgmtDriverError, "helm_installation_script_path.*no route"):
            self.run_on(0, InstallHelm())

    def test_done(self) -> None:
        self.make(workers=0, helm=Helm(script=Path(__file__)))
        digest = hashlib.sha256(Path(__file__).read_bytes()).hexdigest() + "\n"
        seen = hashlib.sha256(digest.encode()).hexdigest()
        self.sessions[0].expect("sudo", "digest-files", f"{_STATE}/helm", stdout=f"{seen} -\n644\n")
        self.run_on(0, InstallHelm())

    def test_a_machine_that_lies_about_its_user(self) -> None:
        self.make(workers=0, helm=Helm())
        self.sessions[0].expect("id", "-u", stdout="--reference=/etc/shadow")
        with self.assertRaisesRegex(MgmtDriverError, "not the number of a user"):
            helm.unpack(self.hosts[0], {"/var/tacker/helm": "x"})

    def test_the_token_is_a_secret(self) -> None:
        self.make(workers=0, helm=Helm())
        data = json.loads(account())["data"]
        credentials = Credentials(Secret(data["token"]), "CA")
        config = helm.kubeconfig(self.cluster, credentials)
        self.assertNotIn(data["token"], repr(config))
        self.sessions[0].expect("write-kubeconfig", str(len(config.reveal())))
        self.assertFalse(helm.configure(self.hosts[0], self.cluster, credentials))


class PayloadsTest(unittest.TestCase):
    """The scripts, on this machine."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_script(
        self, name: str, *words: str, stdin: bytes = b"", **changes: str
    ) -> subprocess.CompletedProcess[bytes]:
        command = [word.replace("/usr/local", str(self.folder)) for word in
                   Script(helm.__package__, name).command(*words)]
        return subprocess.run(
            command, input=stdin, capture_output=True, cwd=self.folder,
            env={**os.environ, "HOME": str(self.folder), **changes}, check=False,
        )

    def test_unpack_helm(self) -> None:
        archive, program = helm_archive(), self.folder / "bin/helm"
        digest = hashlib.sha256(archive).hexdigest()
        for _ in range(2):
            ran = self.run_script("unpack-helm", "linux-amd64/helm", digest, stdin=archive)
            self.assertEqual((0, b""), (ran.returncode, ran.stderr))
            self.assertEqual("linux-amd64/helm", program.read_text())
            self.assertEqual(0o755, program.stat().st_mode & 0o777)
        for stdin in (archive[:-5], archive + b"x", b""):
            ran = self.run_script("unpack-helm", "linux-amd64/helm", digest, stdin=stdin)
            self.assertNotEqual(0, ran.returncode)
            self.assertIn(b"differs from the archive in the VNF package", ran.stderr)
        self.assertEqual([program], list(program.parent.iterdir()))

    def test_write_kubeconfig(self) -> None:
        config = self.folder / ".kube/config"
        for said in (b"changed\n", b""):
            ran = self.run_script("write-kubeconfig", "5", stdin=b"token")
            self.assertEqual((0, said), (ran.returncode, ran.stdout))
            self.assertEqual(("token", 0o600), (config.read_text(), config.stat().st_mode & 0o777))
            config.chmod(0o644)
        self.assertNotEqual(0, self.run_script("write-kubeconfig", "9", stdin=b"half").returncode)
        self.assertEqual("token", config.read_text())
        self.assertEqual([config], list(config.parent.iterdir()))

    def test_a_folder_from_one_machine_to_another(self) -> None:
        charts = self.folder / "charts"
        self.assertEqual(b"", self.run_script("pack-folder", str(charts)).stdout)
        (charts / "vnf-1/web/templates").mkdir(parents=True)
        (charts / "vnf-1/web/Chart.yaml").write_text("name: web\n")
        packed = self.run_script("pack-folder", str(charts)).stdout
        shutil.rmtree(charts)
        for _ in range(2):
            words = (str(charts), str(len(packed)))
            ran = self.run_script("unpack-folder", *words, stdin=packed)
            self.assertEqual((0, b""), (ran.returncode, ran.stderr))
        self.assertEqual("name: web\n", (charts / "vnf-1/web/Chart.yaml").read_text())
        ran = self.run_script("unpack-folder", *words, stdin=packed[: len(packed) // 2])
        self.assertNotEqual(0, ran.returncode)

    def test_cached_charts_of_repositories_stay_behind(self) -> None:
        """Charts may have any size, and Helm fetches them again; indexes are not fetched again."""
        cache = self.folder / ".cache/helm"
        for name in ("repository/web-index.yaml", "repository/web-1.0.tgz", "content/ab/cd.chart"):
            (cache / name).parent.mkdir(parents=True, exist_ok=True)
            (cache / name).write_text(name)

        def run(argv: Sequence[str], **options: Any) -> Result:
            self.assertLess(60, options["timeout"])
            return Result(0, self.run_script(*named(argv)).stdout.decode())

        folders = helm.pack(Host(NODE, mock.Mock(run=run)))
        self.assertEqual([".cache/helm/repository"], list(folders))
        packed = base64.b64decode(folders[".cache/helm/repository"])
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            self.assertEqual([".", "./web-index.yaml"], archive.getnames())

    def test_an_empty_folder_is_nothing(self) -> None:
        self.assertEqual(b"", self.run_script("pack-folder", str(self.folder)).stdout)


def _vim(*addresses: str) -> Vim:
    """One with Helm on the nodes at these addresses, if there are any."""
    access = HelmAccess(addresses, SshLogin("ubuntu", Secret("a'b\"c")))
    credentials = Credentials(Secret("token"), "CA")
    url = "https://192.0.2.1:6443"
    return Vim("vim", url, credentials, access if addresses else None)


class VimOfInstanceTest(unittest.TestCase):
    """The VIM as Tacker's v2 API keeps it."""

    def test_its_type_tells_of_helm(self) -> None:
        openstack = {"vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3"}
        instance: dict[str, Any] = {"vimConnectionInfo": {"vim1": openstack}}
        vims = InstanceVims(mock.Mock(instance=instance))
        for vim, kind in ((_vim("192.0.2.1"), "HELM.V_3"), (_vim(), "KUBERNETES.V_1")):
            vims.register(vim)
            first, second = instance["vimConnectionInfo"].values()
            self.assertEqual((openstack, f"ETSINFV.{kind}"), (first, second["vimType"]))
            self.assertNotIn("a'b", str(second))
        vims.register(_vim("192.0.2.1"))
        vims.unregister()
        self.assertEqual({"vim1": openstack}, instance["vimConnectionInfo"])
