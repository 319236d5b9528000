"""The phases of the cluster: what they do, how they fail."""

import base64
import dataclasses
import hashlib
import json
import re
import unittest
from collections.abc import Sequence
from ipaddress import IPv4Network
from typing import Any

import yaml

from mgmt_drivers.cluster.access import service_account
from mgmt_drivers.cluster.access.grant_access import GrantVimAccess
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.kubeadm.control_plane_phases import InitializeControlPlane
from mgmt_drivers.cluster.kubeadm.join_nodes import JoinNodes
from mgmt_drivers.cluster.load_balancer.load_balancer_phases import ConfigureLoadBalancer
from mgmt_drivers.cluster.nodes.check_clocks import CheckClocks
from mgmt_drivers.cluster.nodes.wait_for_nodes import WaitForNodes
from mgmt_drivers.cluster.packages.install_packages import InstallPackages
from mgmt_drivers.cluster.packages.pull_images import PullImages
from mgmt_drivers.cluster.packages.repository_params import ImageRepository
from mgmt_drivers.cluster.pod_network.apply_manifest import ApplyCniManifest
from mgmt_drivers.cluster.registries.configure_registries import ConfigureRegistries
from mgmt_drivers.cluster.registries.registries_params import HostEntry, Login, Registry
from mgmt_drivers.engine.phase import HostPhase, Phase
from mgmt_drivers.engine.trace import CHANGED, CHECKED, UNCHANGED, Outcome
from mgmt_drivers.errors import CommandFailed, MgmtDriverError
from mgmt_drivers.machine import docker, facts
from mgmt_drivers.machine.host import Host
from mgmt_drivers.operations.groups import join_nodes
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.secret import Secret
from mgmt_drivers.testing import made_certificates
from mgmt_drivers.testing.fake_cluster import cluster
from mgmt_drivers.testing.fakes import FakeSession, MemoryStore

NO_MEMBERS = json.dumps({"members": []})
_STATE = "/var/lib/tacker-mgmt-drivers"


def _secret_of_account() -> str:
    data = {"token": b"the token", "ca.crt": b"the CA"}
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    return json.dumps({"data": encoded})


def addresses(address: str) -> str:
    """What ip shows of a machine with one interface, when asked for an address."""
    return json.dumps([{}, {"ifname": "eth0", "addr_info": [{"local": address}]}])


class PhaseTest(unittest.TestCase):
    def make(self, masters: int = 1, workers: int = 1, **changes: Any) -> None:
        self.cluster, by_name = cluster(masters, workers, **changes)
        self.hosts = list(self.cluster.hosts)
        self.sessions: list[FakeSession] = [by_name[self.cluster.name(h)] for h in self.hosts]

    def run_on(self, number: int, phase: HostPhase[Cluster]) -> Outcome:
        return phase.step(self.hosts[number], self.cluster)

    def ask(self, host: Host, question: Any, outcome: Outcome = CHECKED) -> Any:
        return question(host)

    def run_on_all(self, phase: Phase[Cluster], hosts: Sequence[Host]) -> None:
        """Run a phase, one host after another, as far as none fails."""
        with phase.around(self.cluster, self.ask) as step:
            for host in hosts:
                step(host, self.cluster)

    def tearDown(self) -> None:
        for session in self.sessions:
            session.assert_done()

    def expect_etcd(self, session: FakeSession, answer: str) -> None:
        session.expect("sudo", "static-pods", "exec", "containerd", stdout=answer)

    def expect_images(self, session: FakeSession, names: str) -> None:
        session.expect("sudo", "kubeadm", "version", stdout="v1.20.2")
        session.expect("sudo", "kubeadm", "config", "images", "list", stdout=names)


class InstallTest(PhaseTest):
    def expect_script(self, number: int) -> None:
        session = self.sessions[number]
        session.expect_facts("debian 12")
        session.expect_new_file(f"{_STATE}/install_k8s_cluster.sh")
        if number == 0:
            session.expect("sudo", "dpkg-query", stdout="installed unattended-upgrades\n")
        session.expect("sudo", "flock", f"{_STATE}/install.lock", "env")

    def test_the_script_runs_with_its_settings_and_is_remembered(self) -> None:
        self.make(image_repository=ImageRepository("registry:5000"))
        self.expect_script(1)
        session = self.sessions[1]
        session.expect_new_file(f"{_STATE}/installed")
        self.assertEqual(CHANGED, self.run_on(1, InstallPackages()))
        for setting in ("KUBERNETES_VERSION=1.20.2", "IMAGE_REPOSITORY=registry:5000",
                        "EXTRA_PACKAGES="):
            self.assertIn(setting, session.ran[2])
        digest = hashlib.sha256(session.stdin[-1]).hexdigest()
        facts.forget(self.hosts[1])
        session.expect_facts("debian 12", note="installed")
        session.expect("sudo", "digest-files", stdout=f"{digest}  -\n644\n")
        self.assertEqual(UNCHANGED, self.run_on(1, InstallPackages()))

    def test_dockers_bridge_takes_no_address_that_the_node_needs(self) -> None:
        """Neither of the machine's networks nor of the cluster's."""
        self.make(container_runtime="docker", pod_cidr=IPv4Network("172.31.0.0/16"),
                  service_cidr=IPv4Network("10.255.255.0/24"))
        session = self.sessions[1]
        session.expect_facts("debian 12")
        session.expect("sudo", "has-program", "docker", "dockerd", status=1)
        session.expect("sudo", "read-file", docker.CONFIG, stdout="")
        session.expect("ip", "-json", stdout='[{"dst": "default"}, {"dst": "192.168.0.0/16"}]')
        session.expect_new_file(docker.CONFIG)
        session.expect_new_file(f"{_STATE}/install_k8s_cluster.sh")
        session.expect("sudo", "flock", f"{_STATE}/install.lock", "env")
        session.expect_new_file(f"{_STATE}/installed")
        self.assertEqual(CHANGED, self.run_on(1, InstallPackages()))
        self.assertEqual({"bip": "198.19.255.1/24"}, json.loads(session.written()[docker.CONFIG]))

    def test_the_load_balancers_packages_come_with_the_others(self) -> None:
        self.make(masters=3)
        self.expect_script(0)
        session = self.sessions[0]
        session.expect("sudo", "dpkg-query", stdout="installed haproxy\ninstalled keepalived\n")
        session.expect_new_file(f"{_STATE}/installed")
        self.run_on(0, InstallPackages())
        self.assertIn("EXTRA_PACKAGES=haproxy keepalived", session.ran[3])

    def test_a_cni_manifest_gets_the_pod_cidr(self) -> None:
        self.make()
        self.sessions[0].expect("sudo", "compare-objects", status=1)
        self.sessions[0].expect("sudo", "kubectl")
        self.assertEqual(CHANGED, self.run_on(0, ApplyCniManifest()))
        self.assertIn(b"192.168.0.0/16", self.sessions[0].stdin[-1])

    def test_what_a_script_leaves_out_is_installed_all_the_same(self) -> None:
        self.make(masters=3)
        self.expect_script(0)
        session = self.sessions[0]
        session.expect("sudo", "dpkg-query", stdout="installed haproxy\n")
        session.expect("sudo", "env", "DEBIAN_FRONTEND=noninteractive", "NEEDRESTART_SUSPEND=1")
        session.expect("sudo", "env", "DEBIAN_FRONTEND=noninteractive", "NEEDRESTART_SUSPEND=1")
        session.expect_new_file(f"{_STATE}/installed")
        self.run_on(0, InstallPackages())
        self.assertEqual(("install", "-y", "--no-install-recommends", "keepalived"),
                         session.ran[6][-4:])


class ClocksTest(PhaseTest):
    def expect_times(self, number: int, *times: float) -> None:
        for time in times:
            self.sessions[number].expect("date", "+%s.%N", stdout=f"{time}\n")

    def test_machines_that_come_are_compared_with_the_leader(self) -> None:
        self.make(masters=3, workers=2)
        self.expect_times(0, 5000.5)
        self.expect_times(3, 4997.25)
        self.run_on_all(CheckClocks(), self.hosts[3:4])

    def test_a_clock_that_is_synchronized_late_is_waited_for(self) -> None:
        self.make()
        self.expect_times(0, 5000, 5000.2, 5000.5)
        self.expect_times(1, 0, 0.2, 5000.5)
        self.run_on_all(CheckClocks(), self.hosts[1:])

    def run_with(self, session: FakeSession) -> None:
        """Compare a machine that has another connection."""
        self.run_on_all(CheckClocks(), [dataclasses.replace(self.hosts[1], session=session)])

    def test_a_clock_that_differs_is_named(self) -> None:
        for seconds, words in ((-30.5, "30.5 s behind"), (6, "6.0 s ahead of")):
            self.make()
            clock, ahead = self.hosts[1].clock, 5000.0 + seconds

            class Wrong(FakeSession):
                def run(self, argv: Any, **options: Any) -> Any:
                    self.expect("date", stdout=f"{clock.time() + ahead}\n")  # noqa: B023
                    return super().run(argv, **options)

            self.sessions[0].expect_polling("date", stdout="5000")
            with self.assertRaisesRegex(
                MgmtDriverError, f"{words} that of masterNode .*vnfc-master-1.*chrony.*retry"
            ):
                self.run_with(Wrong())
            self.sessions[0]._script.clear()

    def test_a_slow_answer_is_no_difference(self) -> None:
        """What the machine may have said at any time of ten seconds."""
        self.make()
        clock = self.hosts[1].clock

        class Slow(FakeSession):
            def run(self, argv: Any, **options: Any) -> Any:
                clock.sleep(10)
                return super().run(argv, **options)

        slow = Slow()
        slow.expect("date", stdout="10")
        self.expect_times(0, 0)
        self.run_with(slow)


@dataclasses.dataclass(frozen=True)
class _LaterRegistry(Registry):
    """With an option that is still to come."""

    token: Secret = Secret("")  # noqa: RUF009 - it cannot be changed


class RegistriesTest(PhaseTest):
    def test_each_option_counts_for_what_is_configured(self) -> None:
        """Nodes note a digest of the options: with another digest each is configured again."""
        login, entry = Login("user", Secret("Pl4nted")), HostEntry("192.0.2.9", "registry")
        registry = Registry("registry:5000", False, login, b"CA", entry)
        self.assertEqual(
            "2c562cd3a8b777422c561682f0b28084"
            "31441985b8ae84dbbe201a935c042f57",
            self.digest(registry, Registry("plain:5000", plain_http=True)),
        )
        tokens = [_LaterRegistry("a:1", token=Secret(token)) for token in ("x", "y")]
        self.assertNotEqual(*map(self.digest, tokens))
        shown = dataclasses.replace(registry, has_kubernetes=True)
        self.assertNotEqual(*map(self.digest, (registry, shown)))

    def digest(self, *registries: Registry) -> str:
        self.make(private_registries=registries)
        self.sessions[0].expect("sudo", "digest-files", status=1)
        return (ConfigureRegistries().look(self.hosts[0], self.cluster) or "").strip()

    def test_only_plain_http_needs_the_runtime_to_know(self) -> None:
        self.make(image_repository=ImageRepository("registry:5000"))
        self.assertEqual((), tuple(self.cluster.params.registries))
        self.make(image_repository=ImageRepository("registry:5000", plain_http=True))
        self.assertEqual(1, len(self.cluster.params.registries))

    def test_registries_are_configured_and_asked(self) -> None:
        self.make(
            private_registries=(
                Registry("one:5000", plain_http=True),
                Registry("two", login=Login("me", Secret("p")), host_entry=HostEntry("::1", "two")),
            )
        )
        session = self.sessions[1]
        session.expect("sudo", "digest-files", f"{_STATE}/registries", status=1)
        session.expect("sudo", "read-file", "/etc/hosts", stdout="127.0.0.1 localhost")
        session.expect_new_file("/etc/hosts")
        session.expect("sudo", "test", "-e", status=1)  # cloud-init's template of it
        session.expect("sudo", "python3", "-c", stdout='[null, "it cannot be reached"]')
        with self.assertRaisesRegex(MgmtDriverError, "registries: two: it cannot be reached$"):
            self.run_on(1, ConfigureRegistries())
        session.expect("sudo", "digest-files", f"{_STATE}/registries", status=1)
        written = session.written()["/etc/hosts"].decode()
        session.expect("sudo", "read-file", "/etc/hosts", stdout=written)
        session.expect_new_file("/etc/hosts")
        session.expect("sudo", "test", "-e", status=1)
        session.expect("sudo", "python3", "-c", stdout="[null, null]")
        for server in ("one:5000", "two"):
            path = f"/etc/containerd/certs.d/{server}/hosts.toml"
            session.expect("sudo", "read-file", path)
            session.expect_new_file(path)
        logins = "/var/lib/kubelet/config.json"
        before = '{"auths": {"old": {"auth": "x"}}, "a": 1}'
        session.expect("sudo", "read-file", logins, stdout=before)
        session.expect_new_file(logins)
        session.expect_new_file(f"{_STATE}/registries")
        self.assertEqual(CHANGED, self.run_on(1, ConfigureRegistries()))
        hosts = session.written()["/etc/hosts"].decode()
        self.assertTrue(hosts.startswith("127.0.0.1 localhost\n# BEGIN"), hosts)
        self.assertIn("\n::1 two\n# END", hosts)
        written = json.loads(session.written()[logins])
        self.assertEqual({"old": {"auth": "x"}, "two": {"auth": "bWU6cA=="}}, written["auths"])
        self.assertEqual(1, written["a"])
        self.assertIn("0600", session.ran[-2])
        asked = json.loads(next(text for text in session.stdin if b'"url"' in text))
        self.assertEqual(["http://one:5000", "https://two"], [entry["url"] for entry in asked])
        self.assertNotIn("bWU6cA==", str(session.commands))


class PullTest(PhaseTest):
    def test_only_coredns_may_be_missing_in_the_repository(self) -> None:
        self.make()
        session = self.sessions[0]
        self.expect_images(session, "r/kube-apiserver:v1\nr/coredns:1")
        session.expect("sudo", "ctr", stdout="")
        session.expect("sudo", "ctr")
        session.expect("sudo", "ctr", status=1, stderr="r/coredns:1: not found")
        self.assertEqual(CHANGED, self.run_on(0, PullImages()))

    def test_an_upgrade_needs_the_dns_that_the_cluster_has(self) -> None:
        for pods, is_needed in ([], False), ([{"name": "coredns-1"}], True):
            self.make()
            session = self.sessions[0]
            self.expect_images(session, "r/coredns:2")
            session.expect("sudo", "ctr", stdout="")
            session.expect("sudo", "ctr", status=1, stderr="r/coredns:2: not found")
            items = [{"metadata": pod, "spec": {}, "status": {}} for pod in pods]
            session.expect("sudo", "kubectl", stdout=json.dumps({"items": items}))
            if is_needed:
                words = "cannot pull r/coredns:2. Push the image into its registry, or name one "
                with self.assertRaisesRegex(MgmtDriverError, words):
                    self.run_on(0, PullImages(is_upgrade=True))
            else:
                self.assertEqual(CHANGED, self.run_on(0, PullImages(is_upgrade=True)))
            session.assert_done()

    def test_any_other_is_an_error_that_names_it(self) -> None:
        self.make()
        session = self.sessions[1]
        self.expect_images(session, "r/kube-apiserver:v1\nr/pause:3")
        session.expect("sudo", "ctr", stdout="")
        session.expect("sudo", "ctr", status=1, stderr="connection refused")
        with self.assertRaisesRegex(MgmtDriverError, "cannot pull r/pause:3.*refused"):
            self.run_on(1, PullImages())

    def test_what_is_there_is_not_pulled(self) -> None:
        self.make(container_runtime="docker")
        session = self.sessions[1]
        self.expect_images(session, "r/pause:3")
        session.expect("sudo", "docker", "image", "inspect", stdout="sha256:1")
        self.assertEqual(UNCHANGED, self.run_on(1, PullImages()))


class ControlPlaneTest(PhaseTest):
    def test_a_bad_configuration_of_haproxy_replaces_nothing(self) -> None:
        self.make(masters=3)
        session = self.sessions[0]
        session.expect("ip", "-json", "-4", "address", stdout=addresses("192.0.2.11"))
        session.expect("sudo", "show-unit", "haproxy", status=3)
        session.expect("sudo", "check-haproxy", status=1, stderr="bad line")
        with self.assertRaisesRegex(CommandFailed, "bad line"):
            self.run_on(0, ConfigureLoadBalancer())

    def test_no_dns_without_coredns(self) -> None:
        self.make()
        session = self.sessions[0]
        self.expect_images(session, "r/etcd:3\nr/coredns:1")
        session.expect("sudo", "ctr", stdout="r/etcd:3")
        session.expect("sudo", "set-conntrack")
        session.expect("sudo", "iptables", "--wait", "--table", "nat")
        session.expect_control_plane_files()
        session.expect("sudo", "run-kubeadm")
        with self.assertLogs("mgmt_drivers", "WARNING"):
            self.assertEqual(CHANGED, self.run_on(0, InitializeControlPlane(is_first=True)))
        self.assertIn("addon/coredns", session.ran[-1])
        self.assertNotIn(b"conntrack", session.stdin[-1])


class JoinTest(PhaseTest):
    def expect_credentials(
        self, leader: FakeSession, ca: str = "", joining: Sequence[Host] = ()
    ) -> None:
        joining = joining or self.hosts[1:]
        for_masters = bool(self.cluster.masters(joining))
        if for_masters:
            leader.expect("sudo", "read-file", "/etc/kubernetes/pki/encryption.yaml")
        leader.expect("sudo", "kubeadm", "version", stdout="v1.20.2")
        issued = "".join(f"{self.serving(host)}---\n" for host in joining)
        leader.expect("sudo", "create-token", stdout=f"{ca}\n---\n{issued}")
        if for_masters:
            leader.expect("sudo", "kubeadm", "init", "phase", "upload-certs")

    def serving(self, host: Host) -> str:
        return made_certificates.serving(self.cluster.name(host), self.cluster.address(host))

    def expect_revocation(
        self, leader: FakeSession, status: int = 0, *, for_masters: bool = True
    ) -> None:
        if for_masters:
            owner = [{"kind": "Secret", "name": "bootstrap-token-0wner0"}]
            found = json.dumps({"metadata": {"ownerReferences": owner}})
            leader.expect("sudo", "kubectl", stdout=found)
        leader.expect("sudo", "kubectl", status=status)

    def deleted(self, leader: FakeSession) -> list[str]:
        """The Secrets that the last command on the leader deletes, the join token's without id."""
        words = leader.ran[-1]
        self.assertIn("--ignore-not-found", words)
        names = words[words.index("secret") + 1 : words.index("--namespace")]
        return [re.sub("^bootstrap-token-(?!0wner0).{6}$", "join token", name) for name in names]

    def expect_join(self, number: int, status: int = 0, stderr: str = "") -> None:
        host, session = self.hosts[number], self.sessions[number]
        session.expect("sudo", "test", "-e", "/etc/kubernetes/kubelet.conf", status=1)
        session.expect_facts("debian 12")
        if self.cluster.is_control_plane(host):
            session.expect_control_plane_files()
        session.expect("sudo", "run-kubeadm", status=status, stderr=stderr)

    def test_control_plane_nodes_join_one_after_another_beside_the_workers(self) -> None:
        self.make(masters=3, workers=2)
        _, second, third, *workers = self.hosts

        def lanes(members: Sequence[Host]) -> list[list[Host]]:
            (work, *_) = join_nodes(self.cluster, self.hosts, members, [])
            return [list(lane) for lane in work.lanes]

        self.assertEqual([[second, third], *([w] for w in workers)], lanes([]))
        self.assertEqual([[third], workers[:1]], lanes([*self.hosts[:2], workers[1]]))
        self.assertEqual([], lanes(self.hosts))

    def test_credentials_for_all_are_revoked_at_the_end(self) -> None:
        self.make(masters=3, workers=1)
        leader = self.sessions[0]
        self.expect_credentials(leader, "CA")
        for number in (1, 2, 3):
            self.expect_join(number)
        for _ in range(2):  # what joins that failed may have left in etcd
            self.expect_etcd(leader, NO_MEMBERS)
        self.expect_revocation(leader)
        self.run_on_all(JoinNodes(self.hosts[1:]), self.hosts[1:])
        for number in (1, 2, 3):
            self.assertIn(base64.b64encode(b"CA"), self.sessions[number].stdin[-1])
        for host, session in zip(self.hosts[1:], self.sessions[1:], strict=True):
            self.assertIn(self.serving(host).encode(), session.stdin[-1])
        kubeconfig, _, config = yaml.safe_load_all(self.sessions[1].stdin[-1])
        secrets = (
            kubeconfig["users"][0]["user"]["token"],
            config["controlPlane"]["certificateKey"],
        )
        for secret in secrets:
            for session in self.sessions:
                self.assertNotIn(secret, str(session.commands))

    def test_credentials_without_a_certificate_for_each_node(self) -> None:
        """A leader could put more into the standard input of those who join."""
        lie = "-----BEGIN PRIVATE KEY-----\n---\nkind: JoinConfiguration\n"
        for stdout in ("", "CA", "CA\n---\n", f"CA\n---\n{lie}---\n"):
            with self.subTest(stdout):
                self.make(masters=1, workers=1)
                leader = self.sessions[0]
                leader.expect("sudo", "kubeadm", "version", stdout="v1.20.2")
                leader.expect("sudo", "create-token", stdout=stdout)
                self.expect_revocation(leader, for_masters=False)
                with self.assertRaisesRegex(MgmtDriverError, "does not print the serving cert"):
                    self.run_on_all(JoinNodes(self.hosts[1:]), self.hosts[1:])

    def test_credentials_are_revoked_after_a_failure(self) -> None:
        self.make(masters=3)
        leader = self.sessions[0]
        self.expect_credentials(leader)
        self.expect_etcd(leader, NO_MEMBERS)
        self.expect_join(1, status=1, stderr="etcd timeout")
        self.expect_revocation(leader)
        with self.assertRaisesRegex(CommandFailed, "etcd timeout"):
            self.run_on_all(JoinNodes(self.hosts[1:]), self.hosts[1:])
        wanted = ["join token", "kubeadm-certs", "bootstrap-token-0wner0"]
        self.assertEqual(wanted, self.deleted(leader))

    def test_no_certificates_are_uploaded_for_workers(self) -> None:
        self.make(masters=3, workers=1)
        leader = self.sessions[0]
        self.expect_credentials(leader, joining=self.hosts[3:])
        self.expect_join(3)
        self.expect_revocation(leader, for_masters=False)
        self.run_on_all(JoinNodes(self.hosts[3:]), self.hosts[3:])
        self.assertEqual(["join token"], self.deleted(leader))

    def test_credentials_that_were_half_made_are_revoked(self) -> None:
        """A request that is given up may have been carried out all the same."""
        for made in ("token", "certificates"):
            with self.subTest(made):
                self.make(masters=3)
                leader = self.sessions[0]
                leader.expect("sudo", "read-file", "/etc/kubernetes/pki/encryption.yaml")
                leader.expect("sudo", "kubeadm", "version", stdout="v1.20.2")
                if made == "certificates":
                    issued = "".join(f"{self.serving(host)}---\n" for host in self.hosts[1:])
                    leader.expect("sudo", "create-token", stdout=f"\n---\n{issued}")
                failing = "create-token" if made == "token" else "kubeadm"
                leader.expect("sudo", failing, status=1, stderr="no answer")
                self.expect_revocation(leader)
                with self.assertRaisesRegex(CommandFailed, "no answer"):
                    self.run_on_all(JoinNodes(self.hosts[1:]), self.hosts[1:])
                self.assertEqual("join token", self.deleted(leader)[0])

    def test_what_a_revocation_does_not_find_hinders_nothing(self) -> None:
        """The uploaded certificates' own token is asked for, and the rest goes all the same."""
        lie = '{"metadata": {"ownerReferences": [{"name": "--all"}]}}'
        for status, stdout in ((1, ""), (0, "["), (0, "{}"), (0, lie)):
            with self.subTest(stdout):
                self.make(masters=3, workers=0)
                leader = self.sessions[0]
                self.expect_credentials(leader)
                self.expect_etcd(leader, NO_MEMBERS)
                self.expect_join(1, status=1, stderr="etcd timeout")
                leader.expect("sudo", "kubectl", status=status, stdout=stdout)
                leader.expect("sudo", "kubectl")
                with self.assertRaisesRegex(CommandFailed, "etcd timeout"):
                    self.run_on_all(JoinNodes(self.hosts[1:]), self.hosts[1:])
                self.assertEqual(["join token", "kubeadm-certs"], self.deleted(leader))

    def test_a_machine_that_etcd_needs_stays_the_member_that_it_is(self) -> None:
        """Its mark would be gone, and a retry might take its data for what an init left half done.

        Nor does the node join again from which the operation works.
        """
        self.make(masters=3)
        leader, session = self.sessions[:2]
        listed = [{"ID": n, "name": f"m{n}", "peerURLs": [f"https://192.0.2.1{n}:2380"],
                   "clientURLs": ["https://c"]} for n in (1, 2)]
        self.expect_credentials(leader)
        for _ in range(2):
            self.expect_etcd(leader, json.dumps({"members": listed}))
        self.expect_etcd(leader, json.dumps([{"Status": {"header": {"member_id": 2}}}]))
        self.expect_revocation(leader)
        with self.assertRaisesRegex(MgmtDriverError, "m2 .* must stay: .* 1 must be healthy"):
            self.run_on_all(JoinNodes(self.hosts[1:]), self.hosts[1:])
        self.assertEqual([], session.ran)

    def test_a_node_that_joined_partly_is_removed_first(self) -> None:
        self.make()
        leader, session = self.sessions
        self.expect_credentials(leader)
        session.expect("sudo", "test", "-e", "/etc/kubernetes/kubelet.conf")
        leader.expect("sudo", "kubectl")
        session.expect_facts("debian 12")
        session.expect("sudo", "run-kubeadm")
        self.expect_revocation(leader, for_masters=False)
        self.run_on_all(JoinNodes(self.hosts[1:]), self.hosts[1:])
        words = ("delete", "node", self.cluster.name(self.hosts[1]))
        self.assertEqual(words, leader.ran[2][-4:-1])

    def test_what_is_left_of_credentials_is_logged(self) -> None:
        """A revocation that fails does not hide how the joins ended."""
        self.make(masters=3, workers=0)
        leader = self.sessions[0]
        self.expect_credentials(leader)
        for number in (1, 2):
            self.expect_etcd(leader, NO_MEMBERS)
            self.expect_join(number)
        self.expect_revocation(leader, status=1)
        with self.assertLogs("mgmt_drivers", "WARNING") as logs:
            self.run_on_all(JoinNodes(self.hosts[1:]), self.hosts[1:])
        for words in ("within two hours", "delete secret bootstrap-token-", "kubeadm-certs",
                      "bootstrap-token-0wner0"):
            self.assertIn(words, logs.output[-1])


class ReadinessTest(PhaseTest):
    def nodes(self, *ready: bool) -> str:
        listed = zip(self.hosts, ready, strict=True)
        items = [
            {
                "metadata": {"name": self.cluster.name(host)},
                "spec": {"podCIDR": f"192.168.{number}.0/24"},
                "status": {
                    "conditions": [
                        {"type": "Ready", "status": str(good), "message": "no network yet"}
                    ],
                },
            }
            for number, (host, good) in enumerate(listed)
        ]
        return json.dumps({"items": items})

    def test_nodes_are_waited_for(self) -> None:
        self.make()
        for seen in ((True, False), (True, True)):
            self.sessions[0].expect("sudo", "kubectl", stdout=self.nodes(*seen))
        self.assertEqual(CHECKED, self.run_on(0, WaitForNodes(self.hosts)))

    def test_account_of_the_vim(self) -> None:
        self.make(masters=3)
        session = self.sessions[0]
        for applied, deleted, outcome in (
            ("configured", "", CHANGED), ("unchanged", "deleted\n", CHANGED),
            ("unchanged", "", UNCHANGED),
        ):
            session.expect("sudo", "kubectl", stdout=f"account {applied}\nrole unchanged\n")
            session.expect("sudo", "kubectl", stdout=deleted)
            self.assertEqual(outcome, self.run_on(0, GrantVimAccess()))
            self.assertEqual(
                ["delete", "clusterrolebinding", "tacker-vim", "--ignore-not-found"],
                [*session.commands[-1][-4:]],
            )
        session.expect("sudo", "kubectl", stdout=json.dumps({}))
        session.expect("sudo", "kubectl", stdout=_secret_of_account())
        found = service_account.read_vim(self.hosts[0], MemoryStore())
        self.assertEqual(("the token", "the CA"), (found.token.reveal(), found.ca))
        self.assertNotIn("the token", repr(found))
        encoded = base64.b64encode(b"the token").decode()
        self.assertEqual(["the token", encoded], session.hidden)

    def test_what_is_inside_goes_past_the_proxy(self) -> None:
        self.make(proxy=Proxy(Secret("http://p:3128"), None, ("10.0.0.0/8",), "10.0.0.0/8"))
        assert self.cluster.proxy
        for word in ("10.0.0.0/8", "192.168.0.0/16", "10.96.0.0/12", "192.0.2.11", "192.0.2.21"):
            self.assertEqual(1, self.cluster.proxy.no_proxy.count(word), word)
