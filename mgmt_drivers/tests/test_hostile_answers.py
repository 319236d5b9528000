"""Machines that lie: what they report reaches no command and no file, but an error."""

import json
import unittest
from collections.abc import Callable
from typing import Any

from mgmt_drivers.cluster.certificates import certificates
from mgmt_drivers.cluster.certificates.certificates import NodeState
from mgmt_drivers.cluster.etcd import etcd
from mgmt_drivers.cluster.kubeadm import kubeadm
from mgmt_drivers.cluster.nodes import kubectl, node_metadata
from mgmt_drivers.cluster.storage import disks
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.machine import answers, interfaces
from mgmt_drivers.testing.fake_cluster import cluster
from mgmt_drivers.testing.fakes import FakeSession, fake_host

_BAD_WORDS = ("--server=https://evil", "x;id", "a\nb", "", "$(id)", "/etc/passwd b", "x" * 5000)


class FactsTest(unittest.TestCase):
    def refused(self, ask: Callable[[Any], object], stdout: str, *words: str) -> None:
        host, session = fake_host()
        session.expect(*words, stdout=stdout)
        with self.subTest(stdout[:60]), self.assertRaises(MgmtDriverError) as caught:
            ask(host)
        self.assertLess(len(str(caught.exception)), 1000)
        self.assertEqual(1, len(session.ran))

    def test_words_that_would_reach_a_command(self) -> None:
        for word in _BAD_WORDS:
            self.refused(kubeadm.read_version, word, "sudo", "kubeadm", "version")
            self.refused(lambda host: disks.find(host, "id"), word, "sudo", "find-disk")

    def test_a_bomb_in_the_place_of_a_word(self) -> None:
        many = f"kubernetesVersion: [{'x,' * 5000}]"
        for text in ("a: &a [x]\nkubernetesVersion: *a", many):
            shown = json.dumps({"data": {"ClusterConfiguration": text}})
            self.refused(kubeadm.read_cluster_release, shown, "sudo", "kubectl")

    def test_what_is_no_word_is_not_written_out(self) -> None:
        bomb: list[Any] = []
        for _ in range(40):
            bomb = [bomb, bomb]
        with self.assertRaisesRegex(MgmtDriverError, "reports a value of type list, which is not"):
            answers.checked(bomb, answers.RELEASE, "a release")

    def test_images(self) -> None:
        (made, _) = cluster()
        host, session = fake_host()
        session.expect("sudo", "kubeadm", "version", stdout="v1.20.2")
        session.expect("sudo", "kubeadm", "config", stdout="r/pause:3.2\n--all\n")
        with self.assertRaisesRegex(MgmtDriverError, "'--all', which is not the name of an image"):
            kubeadm.list_images(host, made)

    def test_certificates(self) -> None:
        for shown in ("x", "", "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----"):
            text = f"/etc/kubernetes/pki/ca.crt\n{shown}\n"
            self.refused(certificates.read, text, "sudo", "show-certificates")
        host, session = fake_host()
        text = "lines before\n/etc/kubernetes/admin.conf\n"
        session.expect("sudo", "show-certificates", stdout=text)
        self.assertEqual(NodeState({}, False), certificates.read(host))

    def test_interfaces(self) -> None:
        for name in ("eth0\n}", "-x", "x" * 16, 7):
            shown = json.dumps([{"ifname": name, "addr_info": [{"local": "192.0.2.1"}]}])
            self.refused(lambda host: interfaces.find(host, "192.0.2.1"), shown, "ip")

    def test_members_of_etcd(self) -> None:
        made, sessions = cluster(masters=3)
        session: FakeSession = next(iter(sessions.values()))
        urls = ["https://a,--x", "file:///etc/passwd", "https://me@a:2379", "https://a:2379/x",
                "https://a:2379/,https://evil:2379", "https://a:2379?,b", "https://a:2379#,b"]
        for member in (*({"ID": id_} for id_ in ("1;id", -1, 0, True, 1 << 64, 1.5)),
                       *({"ID": 1, "clientURLs": [url]} for url in urls),
                       *({"ID": 1, "peerURLs": [url]} for url in urls)):
            session.expect("sudo", "static-pods", stdout=json.dumps({"members": [member]}))
            with self.subTest(member), self.assertRaises(etcd.EtcdUnreadable):
                etcd.list_members(made.hosts[0], made)

    def test_alarms_of_etcd(self) -> None:
        made, sessions = cluster(masters=3)
        session: FakeSession = next(iter(sessions.values()))
        session.expect("sudo", "static-pods", stdout='{"members": []}')
        status = {
            "header": {"member_id": 1, "revision": "9"}, "dbSize": -1, "dbSizeQuota": [],
            "errors": [f"memberID:{'9' * 5000} alarm:NOSPACE", "\x1b[2J\nforged"],
            "version": "9" * 5000,
        }
        session.expect("sudo", "static-pods", stdout=json.dumps([{"Status": status}]))
        found = etcd.read_status(made.hosts[0], made)
        self.assertEqual({("NOSPACE", 0)}, found.alarms)
        self.assertEqual(({1: r"\x1b[2J\nforged"}, 0), (found.errors, found.revision))
        self.assertEqual((etcd.Database(0, 0, 0), {}), (found.databases[1], found.releases))

    def test_names_of_members_forge_no_log(self) -> None:
        member = etcd.Member(1, "a\x1b[2J\n2026 INFO forged", ("https://192.0.2.1:2380",), ())
        self.assertEqual(r"a\x1b[2J\n2026 INFO forged (https://192.0.2.1:2380)", str(member))

    def test_names_of_nodes(self) -> None:
        for name in (*_BAD_WORDS, "A", "-a", "a-", "a\u00e9", "x" * 254, 7):
            shown = json.dumps({"items": [{"metadata": {"name": name}}]})
            self.refused(kubectl.list_nodes, shown, "sudo", "kubectl")

    def test_labels_and_taints(self) -> None:
        for labels, taints in (
            ({"--server": "https://evil"}, []),
            ({"a": "--x\n"}, []),
            ({"a" * 400: ""}, []),
            ({}, [{"key": "-x", "effect": "NoSchedule"}]),
            ({}, [{"key": "x", "effect": "NoSchedule --x"}]),
            ({}, [{"key": "x", "value": "a b", "effect": "NoSchedule"}]),
        ):
            node = {"metadata": {"name": "n", "labels": labels}, "spec": {"taints": taints}}
            with self.subTest(node), self.assertRaises(MgmtDriverError):
                node_metadata.of(node)
