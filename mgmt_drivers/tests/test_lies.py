"""Machines that lie: what they report reaches no command and no file, but an error."""

import ipaddress
import json
import os
import subprocess
import tempfile
import unittest
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mgmt_drivers import grammar
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host import disks, interfaces
from mgmt_drivers.kube import etcd, kubeadm, node_metadata
from mgmt_drivers.kube.pod_network import PodNetwork
from mgmt_drivers.kube.runtime import Containerd, Docker
from mgmt_drivers.kube.service_account import Credentials
from mgmt_drivers.phases.nodes.pod_network import _part
from mgmt_drivers.secret import Secret
from mgmt_drivers.tests.cluster import cluster
from mgmt_drivers.tests.fakes import FakeSession, fake_host

_LIES = st.text(st.sampled_from("-./:0129 \n\t;$(){}'\"`|&=ax%\u2028١") | st.characters())
_BAD_WORDS = ("--server=https://evil", "x;id", "a\nb", "", "$(id)", "/etc/passwd b", "x" * 5000)
# Prints what is watched, and then has nothing more to say.
_KUBECTL = "#!/bin/sh\ncat \"$ROOT/events\"\n"
_IP = "#!/bin/sh\necho \"$@\" >>\"$ROOT/routes\"\n[ \"$5\" != 10.0.0.66 ]\n"


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
            self.refused(kubeadm.version, word, "sudo", "kubeadm", "version")
            self.refused(lambda host: disks.find(host, "id"), word, "sudo", "find-disk")
        for word in ("--privileged", "a;id", "x" * 5000):
            self.refused(lambda host: Docker().exec_prefix(host, "etcd"), word, "sudo", "docker")

    def test_images_and_containers(self) -> None:
        (made, _) = cluster()
        host, session = fake_host()
        session.expect("sudo", "kubeadm", "version", stdout="v1.20.2")
        session.expect("sudo", "kubeadm", "config", stdout="r/pause:3.2\n--all\n")
        with self.assertRaisesRegex(MgmtDriverError, "'--all', which is not the name of an image"):
            kubeadm.images(host, made)
        session.expect("sudo", "ctr", stdout="--rm\n")
        session.expect("sudo", "ctr", stdout="--rm 7 RUNNING\n")
        with self.assertRaisesRegex(MgmtDriverError, "not the id of a container"):
            Containerd().exec_prefix(host, "etcd")

    def test_interfaces(self) -> None:
        for changes in ({"ifname": "eth0\n}"}, {"ifname": "-x"}, {"mtu": "1;id"}, {"mtu": 10**9},
                        {"addr_info": [{"local": "192.0.2.1", "prefixlen": "0/;id"}]}):
            good = {"ifname": "e", "mtu": 1500,
                    "addr_info": [{"local": "192.0.2.1", "prefixlen": 24}]}
            shown = json.dumps([{**good, **changes}])
            self.refused(lambda host: interfaces.having(host, "192.0.2.1"), shown, "ip")

    def test_members_of_etcd(self) -> None:
        made, sessions = cluster(masters=3)
        session: FakeSession = next(iter(sessions.values()))
        for member in ({"ID": "1;id"}, {"ID": 1, "clientURLs": ["https://a,--x"]},
                       {"ID": 1, "peerURLs": ["file:///etc/passwd"]}):
            session.expect("sudo", "ctr", stdout="etcd\n")
            session.expect("sudo", "ctr", stdout="etcd 7 RUNNING\n")
            session.expect("sudo", "ctr", stdout=json.dumps({"members": [member]}))
            with self.assertRaises(etcd.EtcdUnreadable):
                etcd.members(made.hosts[0], made)

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


class PodCidrTest(unittest.TestCase):
    @given(_LIES | st.sampled_from(("0.0.0.0/0", "192.168.1.0/16", "10.0.0.0/24", "fe80::/24")))
    def test_only_parts_of_the_clusters_are_taken(self, reported: str) -> None:
        made, _ = cluster()
        try:
            part = _part(made, "n", reported)
        except MgmtDriverError as error:
            self.assertIn("as pod CIDR of node n, which is no /24 of 192.168.0.0/16", str(error))
        else:
            self.assertEqual(grammar.ipv4_network(reported), part)

    def test_a_node_that_lies_draws_no_routes_and_stops_nobody(self) -> None:
        self.assertEqual(
            ["route replace 192.168.1.0/24 via 10.0.0.1", "route replace 192.168.4.0/24 via "
             "10.0.0.66", "route delete 192.168.3.0/24 via 10.0.0.3"],
            self.routes(
                "ADDED 192.168.1.0/24 10.0.0.1",
                "ADDED 0.0.0.0/0 10.0.0.2",
                "ADDED 10.0.0.0/24 10.0.0.2",
                "ADDED 192.168.0.0/16 10.0.0.2",
                "ADDED 192.169.0.0/24 10.0.0.2",
                "ADDED 192.168.08.0/24 10.0.0.2",
                "ADDED 192.168.2.0/24 default",
                "ADDED a[$(touch${IFS}$ROOT/routes)].1.1.1/24 10.0.0.2",
                "MODIFIED 192.168.4.0/24 10.0.0.66",  # which the kernel refuses
                "DELETED 192.168.3.0/24 10.0.0.3",
            ),
        )

    def routes(self, *events: str) -> Sequence[str]:
        """What the script of a node has ip do, told of these events."""
        network = PodNetwork(
            ipaddress.IPv4Network("192.168.0.0/16"), ipaddress.IPv4Network("192.168.9.0/24"),
            1500, "https://192.0.2.1:6443", Credentials(Secret("t"), ""),
        )
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "events").write_text("".join(f"{event}\n" for event in events))
            for name, text in (("kubectl", _KUBECTL), ("ip", _IP), ("iptables", "#!/bin/sh\n")):
                (root / name).write_text(text)
                (root / name).chmod(0o755)
            environment = {"PATH": f"{root}:{os.environ['PATH']}", "ROOT": folder}
            script = next(str(f.content) for f in network.files() if "sbin" in f.path)
            subprocess.run(["bash", "-c", script], env=environment, check=True, timeout=60)
            return (root / "routes").read_text().splitlines()
