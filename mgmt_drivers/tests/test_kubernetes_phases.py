"""The phases of the cluster: where they are needed, what they do, how they fail."""

import base64
import json
import unittest
from typing import Any

from mgmt_drivers.errors import CommandFailed, MgmtDriverError
from mgmt_drivers.kube.cluster import Invitation
from mgmt_drivers.params.kubernetes import ImageRepository
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.params.registries import HostEntry, Login, Registry
from mgmt_drivers.phases.kubernetes.await_nodes import AwaitNodes
from mgmt_drivers.phases.kubernetes.balance_api import BalanceApi
from mgmt_drivers.phases.kubernetes.connect_pods import ConnectPods
from mgmt_drivers.phases.kubernetes.connect_registries import ConnectRegistries
from mgmt_drivers.phases.kubernetes.grant_vim_access import GrantVimAccess
from mgmt_drivers.phases.kubernetes.init_control_plane import InitControlPlane
from mgmt_drivers.phases.kubernetes.install_kubernetes import InstallKubernetes
from mgmt_drivers.phases.kubernetes.join_nodes import JoinNodes, NotTried
from mgmt_drivers.phases.kubernetes.pull_images import ImagesUnavailable, PullImages
from mgmt_drivers.phases.kubernetes.share_pod_network import SharePodNetwork
from mgmt_drivers.phases.kubernetes.survey_masters import SurveyMasters
from mgmt_drivers.secret import Secret
from mgmt_drivers.tests.cluster import VIP, cluster
from mgmt_drivers.tests.fakes import FakeSession

NO_MEMBERS = json.dumps({"members": []})
_INVITATION = Invitation(Secret("abcdef.0123456789abcdef"), Secret("k" * 64), ("sha256:00",))


def _secret_of_account() -> str:
    data = {"token": b"the token", "ca.crt": b"the CA"}
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    return json.dumps({"data": encoded})


class PhaseTest(unittest.TestCase):
    def make(self, masters: int = 1, workers: int = 1, **changes: Any) -> None:
        self.cluster, by_name = cluster(masters, workers, **changes)
        self.hosts = list(self.cluster.hosts)
        self.sessions: list[FakeSession] = [by_name[self.cluster.name(h.node)] for h in self.hosts]

    def tearDown(self) -> None:
        for session in self.sessions:
            session.assert_done()

    def expect_etcd(self, session: FakeSession, answer: str) -> None:
        session.expect("sudo", "ctr", "--namespace", "k8s.io", "containers", stdout="etcd1\n")
        session.expect("sudo", "ctr", "--namespace", "k8s.io", "tasks", stdout="etcd1 7 RUNNING\n")
        session.expect("sudo", "ctr", "--namespace", "k8s.io", "tasks", "exec", stdout=answer)

    def expect_images(self, session: FakeSession, names: str) -> None:
        session.expect("sudo", "kubeadm", "version", stdout="v1.20.2")
        session.expect("sudo", "kubeadm", "config", "images", "list", stdout=names)


class InstallTest(PhaseTest):
    def test_the_script_runs_with_its_settings_and_is_remembered(self) -> None:
        self.make(image_repository=ImageRepository("registry:5000"))
        session = self.sessions[1]
        for _ in range(2):  # the script, then the mark: each looked for and written
            session.expect("sudo", "sh", "-c", status=1)
            session.expect("sudo", "sh", "-c")
            if _ == 0:
                session.expect("sudo", "flock", "/run/lock/tacker-mgmt-drivers.install", "env")
        InstallKubernetes().apply(self.hosts[1], self.cluster)
        self.assertIn("KUBERNETES_VERSION=1.20.2", session.ran[2])
        self.assertIn("IMAGE_REPOSITORY=registry:5000", session.ran[2])
        session.expect("sudo", "sh", "-c", stdout="something else")
        self.assertTrue(InstallKubernetes().needed(self.hosts[1], self.cluster))

    def test_only_plain_http_needs_the_runtime_to_know(self) -> None:
        self.make(image_repository=ImageRepository("registry:5000"))
        self.assertFalse(ConnectRegistries().needed(self.hosts[0], self.cluster))
        self.make(image_repository=ImageRepository("registry:5000", plain_http=True))
        self.sessions[0].expect("sudo", "sh", "-c", status=1)
        self.assertTrue(ConnectRegistries().needed(self.hosts[0], self.cluster))

    def test_registries_are_connected_and_asked(self) -> None:
        self.make(
            private_registries=(
                Registry("one:5000", plain_http=True),
                Registry("two", login=Login("me", Secret("p")), host_entry=HostEntry("::1", "two")),
            )
        )
        session = self.sessions[1]
        session.expect("sudo", "sh", "-c", stdout="127.0.0.1 localhost")
        session.expect("sudo", "sh", "-c", status=1)
        session.expect("sudo", "sh", "-c")
        session.expect("sudo", "test", "-e", status=1)  # cloud-init's template of it
        session.expect("sudo", "sh", "-c")  # the first registry's file is read
        session.expect("sudo", "sh", "-c", status=1)
        session.expect("sudo", "sh", "-c")
        session.expect("sudo", "sh", "-c")  # the second's
        session.expect("sudo", "sh", "-c", status=1)
        session.expect("sudo", "sh", "-c")
        session.expect("sudo", "sh", "-c", stdout='{"auths": {"old": {"auth": "x"}}, "a": 1}')
        session.expect("sudo", "sh", "-c", status=1)
        session.expect("sudo", "sh", "-c")
        session.expect("sudo", "python3", "-c", stdout='[null, "it cannot be reached"]')
        with self.assertRaisesRegex(MgmtDriverError, "registries: two: it cannot be reached$"):
            ConnectRegistries().apply(self.hosts[1], self.cluster)
        hosts = session.stdin[2].decode()
        self.assertTrue(hosts.startswith("127.0.0.1 localhost\n# BEGIN"), hosts)
        self.assertIn("\n::1 two\n# END", hosts)
        logins = json.loads(session.stdin[-2])
        self.assertEqual({"old": {"auth": "x"}, "two": {"auth": "bWU6cA=="}}, logins["auths"])
        self.assertEqual(1, logins["a"])
        self.assertIn("0600", session.ran[-2])
        asked = json.loads(session.stdin[-1])
        self.assertEqual(["http://one:5000", "https://two"], [entry["url"] for entry in asked])
        self.assertNotIn("bWU6cA==", str(session.ran))


class PullTest(PhaseTest):
    def test_only_coredns_may_be_missing_in_the_repository(self) -> None:
        self.make()
        session = self.sessions[0]
        self.expect_images(session, "r/kube-apiserver:v1\nr/coredns:1")
        session.expect("sudo", "ctr", stdout="")
        session.expect("sudo", "ctr", stdout="")
        session.expect("sudo", "ctr")
        session.expect("sudo", "ctr", status=1, stderr="r/coredns:1: not found")
        PullImages().apply(self.hosts[0], self.cluster)

    def test_any_other_is_an_error_that_names_it(self) -> None:
        self.make()
        session = self.sessions[1]
        self.expect_images(session, "r/kube-apiserver:v1\nr/pause:3")
        session.expect("sudo", "ctr", stdout="")
        session.expect("sudo", "ctr", status=1, stderr="connection refused")
        with self.assertRaisesRegex(ImagesUnavailable, "cannot pull r/pause:3.*refused"):
            PullImages().apply(self.hosts[1], self.cluster)

    def test_what_is_there_is_not_pulled(self) -> None:
        self.make(container_runtime="docker")
        session = self.sessions[1]
        self.expect_images(session, "r/pause:3")
        session.expect("sudo", "docker", "image", "inspect", stdout="sha256:1")
        self.assertFalse(PullImages().needed(self.hosts[1], self.cluster))


class ControlPlaneTest(PhaseTest):
    def test_balancing_is_for_masters_behind_a_virtual_ip(self) -> None:
        self.make()
        self.assertFalse(BalanceApi().needed(self.hosts[0], self.cluster))
        self.make(masters=3)
        self.assertFalse(BalanceApi().needed(self.hosts[3], self.cluster))
        self.sessions[1].expect("sudo", "systemctl", "is-active", status=3)
        self.assertTrue(BalanceApi().needed(self.hosts[1], self.cluster))

    def test_a_bad_configuration_of_haproxy_replaces_nothing(self) -> None:
        self.make(masters=3)
        session = self.sessions[0]
        session.expect("sudo", "dpkg-query", stdout="installed haproxy\ninstalled keepalived\n")
        session.expect("sudo", "sh", "-c", status=1)
        session.expect("sudo", "sh", "-c")
        session.expect("sudo", "haproxy", "-c", status=1, stderr="bad line")
        with self.assertRaisesRegex(CommandFailed, "bad line"):
            BalanceApi().apply(self.hosts[0], self.cluster)

    def test_init_is_for_the_first_master_unless_one_is_a_member(self) -> None:
        self.make(masters=3)
        self.assertEqual(
            [True, False, False, False],
            [InitControlPlane().needed(host, self.cluster) for host in self.hosts],
        )
        for session, status in zip(self.sessions[:3], (1, 0, 1), strict=True):
            session.expect("sudo", "test", "-e", status=status)
        for host in self.hosts:
            self.assertFalse(SurveyMasters().needed(host, self.cluster))
        self.assertIs(self.hosts[1], self.cluster.lead)
        self.assertFalse(any(InitControlPlane().needed(h, self.cluster) for h in self.hosts))

    def test_no_dns_without_coredns(self) -> None:
        self.make()
        session = self.sessions[0]
        self.expect_images(session, "r/etcd:3\nr/coredns:1")
        session.expect("sudo", "ctr", stdout="r/etcd:3")
        session.expect("sudo", "ctr", stdout="")
        session.expect("sudo", "sh", "-c")  # conntrack can be set
        session.expect_new_file()
        session.expect("sudo", "kubeadm", "version", stdout="v1.20.2")
        session.expect("sudo", "bash", "-c")
        with self.assertLogs("mgmt_drivers", "WARNING"):
            InitControlPlane().apply(self.hosts[0], self.cluster)
        self.assertIn("addon/coredns", session.ran[-1])
        self.assertNotIn(b"conntrack", session.stdin[-1])


class JoinTest(PhaseTest):
    def test_one_invitation_for_all_is_revoked_at_the_end(self) -> None:
        self.make(masters=3, workers=1)
        lead = self.sessions[0]
        lead.expect("sudo", "kubeadm", "version", stdout="v1.20.2")
        digest = f"sha256:{'0a' * 32}"
        lead.expect("sudo", "kubeadm", "token", "create", stdout=f"kubeadm join --x {digest} \n")
        lead.expect("sudo", "kubeadm", "init", "phase", "upload-certs")
        for host, session in zip(self.hosts[1:], self.sessions[1:], strict=True):
            session.expect("sudo", "rm")
            session.expect("sudo", "test", "-e", status=1)
            if self.cluster.is_master(host.node):
                session.expect_new_file()
            session.expect("sudo", "bash", "-c")
        for _ in range(2):  # what joins that failed may have left in etcd
            self.expect_etcd(lead, NO_MEMBERS)
        lead.expect("sudo", "kubeadm", "token", "delete")
        lead.expect("sudo", "kubectl")
        with JoinNodes().around(self.cluster):
            for host in self.hosts[1:]:
                JoinNodes().apply(host, self.cluster)
        assert self.cluster.invitation
        self.assertEqual((digest,), self.cluster.invitation.ca_hashes)
        for secret in (self.cluster.invitation.token, self.cluster.invitation.certificate_key):
            for session in self.sessions:
                self.assertNotIn(secret.reveal(), str(session.ran))

    def test_no_master_joins_after_one_that_failed(self) -> None:
        self.make(masters=3)
        self.cluster.invitation = _INVITATION
        for session in self.sessions[1:]:
            session.expect("sudo", "rm")
            session.expect("sudo", "test", "-e", status=1)
        self.expect_etcd(self.sessions[0], NO_MEMBERS)
        self.sessions[1].expect_new_file()
        self.sessions[1].expect("sudo", "bash", "-c", status=1, stderr="etcd timeout")
        with self.assertRaisesRegex(CommandFailed, "etcd timeout"):
            JoinNodes().apply(self.hosts[1], self.cluster)
        with self.assertRaisesRegex(NotTried, self.cluster.name(self.hosts[1].node)):
            JoinNodes().apply(self.hosts[2], self.cluster)
        self.sessions[3].expect("sudo", "bash", "-c")  # a worker all the same
        JoinNodes().apply(self.hosts[3], self.cluster)

    def test_a_node_that_joined_half_way_is_taken_out_first(self) -> None:
        self.make()
        self.cluster.invitation = _INVITATION
        self.sessions[1].expect("sudo", "rm")
        self.sessions[1].expect("sudo", "test", "-e")
        self.sessions[0].expect("sudo", "kubectl")
        self.sessions[1].expect("sudo", "bash", "-c")
        JoinNodes().apply(self.hosts[1], self.cluster)
        words = ("delete", "node", self.cluster.name(self.hosts[1].node))
        self.assertEqual(words, self.sessions[0].ran[-1][-4:-1])

    def test_a_revocation_that_fails_is_only_said(self) -> None:
        self.make()
        self.cluster.invitation = _INVITATION
        self.sessions[0].expect("sudo", "kubeadm", "token", "delete", status=1)
        with self.assertLogs("mgmt_drivers", "WARNING"), JoinNodes().around(self.cluster):
            pass


class ReadinessTest(PhaseTest):
    def nodes(self, *ready: bool) -> str:
        listed = zip(self.hosts, ready, strict=True)
        items = [
            {
                "metadata": {"name": self.cluster.name(host.node)},
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

    def test_each_node_gets_its_share(self) -> None:
        self.make()
        lead = self.sessions[0]
        lead.expect("sudo", "kubectl")
        lead.expect("sudo", "kubectl", stdout=_secret_of_account())
        lead.expect("sudo", "kubectl", stdout=self.nodes(False, False))
        SharePodNetwork().apply(self.hosts[0], self.cluster)
        session = self.sessions[1]
        for _ in range(5):
            session.expect("sudo", "sh", "-c", status=1)
            session.expect("sudo", "sh", "-c")
        session.expect("sudo", "systemctl", "daemon-reload")
        session.expect("sudo", "systemctl", "enable")
        session.expect("sudo", "systemctl", "reload-or-restart")
        session.expect("sudo", "rm")
        ConnectPods().apply(self.hosts[1], self.cluster)
        self.assertIn(b"192.168.1.0/24", session.stdin[3])
        self.assertIn(b"the token", session.stdin[5])
        self.assertNotIn("the token", str(session.ran))
        lead.expect("sudo", "systemctl", "is-active", status=3)
        self.assertTrue(ConnectPods().needed(self.hosts[0], self.cluster))

    def test_nodes_are_waited_for(self) -> None:
        self.make()
        for seen in ((True, False), (True, True)):
            self.sessions[0].expect("sudo", "kubectl", stdout=self.nodes(*seen))
        AwaitNodes().apply(self.hosts[0], self.cluster)

    def test_account_of_the_vim(self) -> None:
        self.make(masters=3)
        session = self.sessions[0]
        session.expect("sudo", "kubectl")
        session.expect("sudo", "kubectl", stdout=json.dumps({}))
        session.expect("sudo", "kubectl", stdout=_secret_of_account())
        GrantVimAccess().apply(self.hosts[0], self.cluster)
        account = self.cluster.account
        assert account
        self.assertEqual(f"https://{VIP}:16443", account.url)
        self.assertEqual(("the token", "the CA"), (account.token.reveal(), account.ca))
        self.assertNotIn("the token", repr(account))

    def test_what_is_inside_goes_past_the_proxy(self) -> None:
        self.make(proxy=Proxy(Secret("http://p:3128"), None, ("10.0.0.0/8",), "10.0.0.0/8"))
        assert self.cluster.proxy
        for word in ("10.0.0.0/8", "192.168.0.0/16", "10.96.0.0/12", "192.0.2.11", "192.0.2.21"):
            self.assertEqual(1, self.cluster.proxy.no_proxy.count(word), word)
