"""The vocabulary of clusters: topology, kubeadm's files, load balancer, pod network."""

import base64
import dataclasses
import json
import tempfile
import unittest
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import yaml

from mgmt_drivers.cluster.addons import addons, manifests
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.cluster_params import KubernetesParams
from mgmt_drivers.cluster.kubeadm import kubeadm, kubeadm_config
from mgmt_drivers.cluster.kubeadm.kubeadm_config import JoinCredentials
from mgmt_drivers.cluster.load_balancer import haproxy, keepalived
from mgmt_drivers.cluster.packages import images
from mgmt_drivers.cluster.packages.repository_params import ImageRepository
from mgmt_drivers.cluster.packages.runtime import Containerd, Docker
from mgmt_drivers.cluster.registries.registries_params import Login, Registry
from mgmt_drivers.cluster.series import SUPPORTED, read_version
from mgmt_drivers.cluster.topology import check_networks, topology
from mgmt_drivers.errors import CommandFailed, InventoryError, ParameterError
from mgmt_drivers.inventory import Inventory, Node
from mgmt_drivers.secret import Secret
from mgmt_drivers.testing import made_certificates
from mgmt_drivers.testing.fake_cluster import (
    FLANNEL,
    MASTER_CP,
    VIP,
    VIP_CP,
    WORKER_CP,
    FakeCluster,
    cluster,
    node,
    params,
)
from mgmt_drivers.testing.fakes import FakeSession, fake_host

_PATCH = "/var/lib/tacker-mgmt-drivers/kubeadm-patches/etcd+strategic.yaml"


class TopologyTest(unittest.TestCase):
    def refused(self, words: str, masters: int, shared: dict[str, str], **changes: Any) -> None:
        nodes = tuple(node("master", n) for n in range(masters))
        with self.assertRaisesRegex(InventoryError, words):
            topology(params(**changes), Inventory(nodes, shared))

    def test_one_master(self) -> None:
        found = cluster()[0].topology
        self.assertFalse(found.is_ha)
        self.assertEqual(("192.0.2.11", 6443), (found.address, found.port))

    def test_masters_behind_a_virtual_ip(self) -> None:
        found = cluster(masters=3, workers=2)[0].topology
        self.assertEqual((VIP, 16443, True), (found.address, found.port, found.is_ha))
        self.assertEqual((3, 2), (len(found.control_plane), len(found.workers)))

    def test_a_floating_ip_is_what_tacker_uses(self) -> None:
        nodes = (node("master", 1),)
        found = topology(params(cluster_fip_name="fip"), Inventory(nodes, {"fip": "203.0.113.1"}))
        self.assertEqual(("192.0.2.11", "203.0.113.1"), (found.address, found.public))

    def test_what_makes_no_cluster_is_refused(self) -> None:
        self.refused("no machine has the CP", 0, {})
        self.refused("2 masters need a virtual IP", 2, {})
        self.refused("at least 3", 2, {VIP_CP: VIP}, cluster_cp_name=VIP_CP)
        self.refused("Heat shows no address of fip", 1, {}, cluster_fip_name="fip")
        both = Node("v", "VDU", "s", {MASTER_CP: "192.0.2.1", WORKER_CP: "192.0.2.2"})
        with self.assertRaisesRegex(InventoryError, "exactly one of the CPs"):
            topology(params(), Inventory((both,), {}))

    def test_machines_lie_outside_the_clusters_networks(self) -> None:
        for changes, words in (
            ({"pod_cidr": IPv4Network("192.0.0.0/16")}, "master_node.pod_cidr: 192.0.2.100 "),
            ({"service_cidr": IPv4Network("192.0.2.0/28")}, "cluster_cidr: 192.0.2.11 "),
        ):
            made = cluster(masters=3, workers=1, **changes)[0]
            with self.assertRaisesRegex(ParameterError, words):
                check_networks(made.topology)
        made = cluster(masters=3)[0]
        check_networks(made.topology)
        floating = Node("v", "VDU", "s", {MASTER_CP: "192.0.2.11", "fip": "192.168.3.4"})
        with self.assertRaisesRegex(ParameterError, "pod_cidr: 192.168.3.4 of the VNF's machines"):
            check_networks(topology(params(), Inventory((floating,), {})))

    def test_names_differ_whatever_the_addresses(self) -> None:
        made, _ = cluster(masters=3, workers=2)
        names = {made.name(host) for host in made.hosts}
        self.assertEqual(5, len(names))
        self.assertTrue(all(len(name) < 64 for name in names))

    def test_a_cluster_has_one_runtime(self) -> None:
        made, _ = cluster()
        self.assertIs(made.runtime, made.runtime)


def _serving(made: FakeCluster) -> dict[str, Secret]:
    pairs = [(made.name(host), made.address(host)) for host in made.hosts]
    return {name: Secret(made_certificates.serving(name, address)) for name, address in pairs}


class KubeadmTest(unittest.TestCase):
    def documents(self, secret: Secret | bytes) -> dict[str, dict[str, Any]]:
        text = secret.reveal() if isinstance(secret, Secret) else secret
        documents = yaml.safe_load_all(text)
        return {d["kind"]: d for d in documents if isinstance(d, dict)}

    def expect_init(self, session: FakeSession) -> None:
        session.expect_control_plane_files()
        session.expect("sudo", "kubeadm", "version", stdout="v1.20.2\n")
        session.expect("sudo", "run-kubeadm")

    def init(
        self,
        made: Cluster,
        *,
        with_dns: bool = True,
        sets_conntrack: bool = True,
        has_iptables: bool = True,
    ) -> None:
        kubeadm.init(
            made.leader,
            made,
            with_dns=with_dns,
            validates=True,
            sets_conntrack=sets_conntrack,
            has_iptables=has_iptables,
        )

    def test_etcd_is_started_by_a_kubelet_that_does_not_know_its_disk_yet(self) -> None:
        made, sessions = cluster(masters=3, version="1.21")
        credentials = JoinCredentials(Secret("a.b"), Secret("k"), "CA", serving=_serving(made))
        master, worker = made.hosts[1], made.hosts[3]
        session = sessions[made.name(master)]
        session.expect_control_plane_files()
        session.expect("sudo", "run-kubeadm")
        kubeadm.join(master, made, credentials)
        (container,) = yaml.safe_load(session.written()[_PATCH])["spec"]["containers"]
        self.assertEqual({"ephemeral-storage": None}, container["resources"]["requests"])
        folder = _PATCH.rpartition("/")[0]
        self.assertEqual(("--experimental-patches", folder), session.ran[-1][-2:])
        session = sessions[made.name(worker)]
        session.expect("sudo", "run-kubeadm")
        kubeadm.join(worker, made, credentials)
        self.assertNotIn("--experimental-patches", session.ran[0])

    def test_init(self) -> None:
        repository = ImageRepository("registry:5000")
        made, sessions = cluster(masters=3, image_repository=repository)
        session = sessions[made.name(made.leader)]
        self.expect_init(session)
        self.init(made, with_dns=False, sets_conntrack=False)
        self.assertEqual(("--skip-phases", "addon/coredns"), session.ran[-1][-2:])
        found = self.documents(session.stdin[-1])
        config = found["ClusterConfiguration"]
        self.assertEqual("kubeadm.k8s.io/v1beta2", config["apiVersion"])
        self.assertEqual(f"{VIP}:16443", config["controlPlaneEndpoint"])
        self.assertEqual("registry:5000", config["imageRepository"])
        self.assertEqual("5000", config["etcd"]["local"]["extraArgs"]["election-timeout"])
        self.assertEqual("systemd", found["KubeletConfiguration"]["cgroupDriver"])
        self.assertEqual({"maxPerCore": 0, "min": 0}, found["KubeProxyConfiguration"]["conntrack"])
        self.assertEqual("iptables", found["KubeProxyConfiguration"]["mode"])
        first = found["InitConfiguration"]
        self.assertEqual("1s", first["bootstrapTokens"][0]["ttl"])
        self.assertNotIn("timeouts", first)  # came with v1beta4
        self.assertEqual("192.0.2.11", first["localAPIEndpoint"]["advertiseAddress"])

    def test_etcd_that_has_learners_keeps_its_own_timing(self) -> None:
        made, sessions = cluster(masters=3, version="1.29")
        session = sessions[made.name(made.leader)]
        session.expect_control_plane_files()
        session.expect("sudo", "kubeadm", "version", stdout="v1.29.4\n")
        session.expect("sudo", "run-kubeadm")
        self.init(made, with_dns=False, sets_conntrack=False)
        self.assertNotIn("etcd", self.documents(session.stdin[-1])["ClusterConfiguration"])

    def test_kube_proxy_uses_nftables_where_iptables_does_not_work(self) -> None:
        for series, has_iptables, mode in (
            ("1.33", True, "iptables"), ("1.33", False, "nftables"), ("1.32", False, "iptables")
        ):
            made, sessions = cluster(version=series)
            session = sessions[made.name(made.leader)]
            session.expect_control_plane_files()
            session.expect("sudo", "kubeadm", "version", stdout=f"v{series}.1\n")
            session.expect("sudo", "run-kubeadm")
            self.init(made, has_iptables=has_iptables)
            found = self.documents(session.stdin[-1])
            self.assertEqual(mode, found["KubeProxyConfiguration"]["mode"])

    def test_a_series_that_refuses_cgroup_v1_is_told_to_take_it(self) -> None:
        both = "ImagePull,SystemVerification"
        for seen, ignored in (("tmpfs", both), ("cgroup2fs", "ImagePull")):
            made, sessions = cluster(version="1.37")
            session = sessions[made.name(made.leader)]
            session.expect_control_plane_files()
            session.expect_facts("debian 12", cgroups=seen)
            session.expect("sudo", "kubeadm", "version", stdout="v1.37.2\n")
            session.expect("sudo", "run-kubeadm")
            self.init(made)
            self.assertIn(ignored, session.ran[-1])
            kubelet = self.documents(session.stdin[-1])["KubeletConfiguration"]
            self.assertEqual({"failCgroupV1": False} if seen == "tmpfs" else {},
                             {k: v for k, v in kubelet.items() if k == "failCgroupV1"})

    def test_the_clusters_configuration_is_read_again_after_changes(self) -> None:
        made, sessions = cluster()
        session = sessions[made.name(made.leader)]

        def expect_release(release: str) -> None:
            part = {"ClusterConfiguration": f"kubernetesVersion: {release}\n"}
            session.expect("sudo", "kubectl", stdout=json.dumps({"data": part}))

        expect_release("v1.19.9")
        for _ in range(2):
            self.assertEqual("v1.19.9", kubeadm.read_cluster_release(made.leader))
        expect_release("v1.20.1")  # by somebody else, whose change is kept
        session.expect("sudo", "kubectl")
        kubeadm.set_image_repository(made.leader, "registry:5000")
        self.assertIn("kubernetesVersion: v1.20.1", session.ran[-1][-1])
        expect_release("v1.20.1")
        self.assertEqual("v1.20.1", kubeadm.read_cluster_release(made.leader))
        session.expect_control_plane_files()
        session.expect("sudo", "waking-kubelet", status=1)
        with self.assertRaises(CommandFailed):
            kubeadm.upgrade_cluster(made.leader, made, "v1.20.2")
        expect_release("v1.20.2")
        self.assertEqual("v1.20.2", kubeadm.read_cluster_release(made.leader))
        session.assert_done()

    def test_apiservers_that_end_quickly(self) -> None:
        """In the form of each kubeadm, from the series on that has the argument."""
        name = "shutdown-send-retry-after"
        listed, other = {"name": name, "value": "true"}, {"name": "profiling", "value": "false"}
        for version, known, expected in (
            ("1.22", None, None),
            ("1.23", None, {name: "true"}),
            ("1.30", {"profiling": "false"}, {"profiling": "false", name: "true"}),
            ("1.31", None, [listed]),
            ("1.33", [other], [other, listed]),
        ):
            series = SUPPORTED[version]
            with self.subTest(version, known=known):
                added = kubeadm_config.add_api_arguments(known, series)
                self.assertEqual(expected, added)
                self.assertEqual(expected, kubeadm_config.add_api_arguments(added, series))
                made, sessions = cluster(version=version)
                session = sessions[made.name(made.leader)]
                self.expect_init(session)
                self.init(made)
                found = self.documents(session.stdin[-1])["ClusterConfiguration"]["apiServer"]
                self.assertEqual(version != "1.22", name in str(found["extraArgs"]))

    def test_node_cidrs_of_a_small_pod_cidr(self) -> None:
        for network, prefix, pods in (
            ("192.168.0.0/16", 24, 110), ("10.0.0.0/21", 26, 61), ("10.0.0.0/24", 28, 13)
        ):
            made, sessions = cluster(pod_cidr=IPv4Network(network))
            session = sessions[made.name(made.leader)]
            self.expect_init(session)
            self.init(made)
            found = self.documents(session.stdin[-1])
            arguments = found["ClusterConfiguration"]["controllerManager"]["extraArgs"]
            self.assertEqual(str(prefix), arguments["node-cidr-mask-size"])
            self.assertEqual(pods, found["KubeletConfiguration"]["maxPods"])

    def test_join(self) -> None:
        token = Secret("abcdef.0123456789abcdef")
        encryption = Secret("kind: EncryptionConfiguration\nkey: planted\n")
        made, sessions = cluster(masters=3, version="1.33")
        credentials = JoinCredentials(
            token, Secret("k" * 64), "CA", encryption, _serving(made)
        )
        for host in (made.hosts[1], made.hosts[3]):
            session = sessions[made.name(host)]
            if made.is_control_plane(host):
                session.expect_control_plane_files()
            session.expect("sudo", "run-kubeadm")
            kubeadm.join(host, made, credentials)
            self.assertNotIn("abcdef", str(session.ran))
            self.assertNotIn("planted", str(session.commands))
            serving = credentials.serving[made.name(host)].reveal()
            self.assertIn(f"\n---\n{serving}---\n", session.stdin[-1].decode())
            self.assertNotIn(serving.splitlines()[1], str(session.commands))
            found = self.documents(session.stdin[-1])
            for has_it in ("encryption-key" in session.ran[-1], "EncryptionConfiguration" in found):
                self.assertEqual(made.is_control_plane(host), has_it)
            config = found["JoinConfiguration"]
            self.assertEqual("kubeadm.k8s.io/v1beta4", config["apiVersion"])
            self.assertEqual("3m0s", config["timeouts"]["kubernetesAPICall"])
            registration = config["nodeRegistration"]
            self.assertEqual(made.name(host), registration["name"])
            self.assertEqual("unix:///run/containerd/containerd.sock", registration["criSocket"])
            arguments = [{"name": "node-ip", "value": made.address(host)}]
            self.assertEqual(arguments, registration["kubeletExtraArgs"])
            self.assertEqual(made.is_control_plane(host), "controlPlane" in config)

    def test_a_join_needs_nothing_that_everybody_may_read(self) -> None:
        """A hardened cluster shows nobody its ConfigMap cluster-info."""
        token = Secret("abcdef.0123456789abcdef")
        for version in ("1.20", "1.37"):
            made, sessions = cluster(masters=3, workers=1, version=version)
            host = made.hosts[3]
            session = sessions[made.name(host)]
            if made.params.series.refuses_cgroup_v1:
                session.expect_facts("debian 12")
            session.expect("sudo", "run-kubeadm")
            credentials = JoinCredentials(token, None, "CA", serving=_serving(made))
            kubeadm.join(host, made, credentials)
            found = self.documents(session.stdin[-1])
            (path,) = found["JoinConfiguration"]["discovery"]["file"].values()
            self.assertIn(f"kubeconfig={path}\n", "".join(session.commands[-1]))
            (server,) = [c["cluster"] for c in found["Config"]["clusters"]]
            self.assertEqual(f"https://{made.endpoint}", server["server"])
            self.assertEqual(b"CA", base64.b64decode(server["certificate-authority-data"]))
            (user,) = [u["user"] for u in found["Config"]["users"]]
            self.assertEqual({"token": token.reveal()}, user)

    def test_a_later_api_of_kubeadm_is_like_the_newest(self) -> None:
        """Their names do not sort: v1 comes after v1beta10, and that after v1beta4."""
        for name in ("v1beta10", "v1"):
            made, sessions = cluster(version="1.33")
            token, serving = Secret("abcdef.0123456789abcdef"), _serving(made)
            credentials = JoinCredentials(token, None, serving=serving)
            series = dataclasses.replace(made.params.series, kubeadm_api=name)
            version = dataclasses.replace(made.params.version, series=series)
            params = dataclasses.replace(made.params, version=version)
            made = dataclasses.replace(
                made, topology=dataclasses.replace(made.topology, params=params)
            )
            session = sessions[made.name(made.hosts[1])]
            session.expect("sudo", "run-kubeadm")
            kubeadm.join(made.hosts[1], made, credentials)
            config = self.documents(session.stdin[-1])["JoinConfiguration"]
            self.assertEqual(f"kubeadm.k8s.io/{name}", config["apiVersion"])
            self.assertIn("timeouts", config)
            self.assertIsInstance(config["nodeRegistration"]["kubeletExtraArgs"], list)

    def test_series(self) -> None:
        for version, api, dockershim in (
            ("1.21.14", "v1beta2", True), ("1.23", "v1beta3", True), ("1.24.0", "v1beta3", False),
            ("v1.31.1", "v1beta4", False),
        ):
            found = read_version(version)
            assert found
            series = found.series
            self.assertEqual((api, dockershim), (series.kubeadm_api, series.dockershim))
        for version in ("1.19.1", "1.200", "1", "latest"):
            self.assertIsNone(read_version(version))


class ImagesTest(unittest.TestCase):
    def test_workers_need_two(self) -> None:
        listed = ["k8s.gcr.io/etcd:3", "k8s.gcr.io/kube-proxy:v1.20.2", "k8s.gcr.io/pause:3.2"]
        self.assertEqual(listed, images.of_role(listed, is_control_plane=True))
        self.assertEqual(listed[1:], images.of_role(listed, is_control_plane=False))

    def test_only_coredns_may_be_absent(self) -> None:
        self.assertTrue(images.may_be_absent("registry:5000/k8s/coredns:1.7.0"))
        self.assertFalse(images.may_be_absent("registry:5000/coredns/etcd:3"))
        self.assertTrue(images.is_absent(CommandFailed("pull", 1, "manifest unknown")))
        self.assertFalse(images.is_absent(CommandFailed("pull", 1, "connection refused")))


class RuntimeTest(unittest.TestCase):
    def test_docker_keeps_what_its_configuration_has(self) -> None:
        host, session = fake_host()
        before = '{"exec-opts": ["x"], "insecure-registries": ["old:1"]}'
        session.expect("sudo", "read-file", "/etc/docker/daemon.json", stdout=before)
        session.expect("sudo", "show-unit", "docker", status=3)
        session.expect("sudo", "apply-unit", "docker")
        secure = '{"docker.io": {"Secure": true}}'
        session.expect_polling("sudo", "docker", "info", stdout=secure)
        session.expect("sudo", "systemctl", "reload", "docker")
        session.expect("sudo", "docker", "info", stdout='{"new:5000": {"Secure": false}}')
        Docker().trust(host, [Registry("new:5000", plain_http=True), Registry("other")], ())
        session.assert_done()
        after = yaml.safe_load(session.written()["/etc/docker/daemon.json"])
        self.assertEqual({"exec-opts": ["x"], "insecure-registries": ["old:1", "new:5000"]}, after)

    def trusted(self, before: str, registry: Registry) -> tuple[str, FakeSession]:
        """What the last file that is written for a registry holds."""
        host, session = fake_host()
        writes = 2 if registry.certificate else 1
        for number in range(writes):
            if number == writes - 1:
                session.expect("sudo", "read-file", stdout=before)
            session.expect("sudo", "write-files")
        Containerd().trust(host, [registry], ())
        session.assert_done()
        return session.stdin[-1].decode(), session

    def test_containerd_gets_a_file_per_registry(self) -> None:
        text, session = self.trusted("", Registry("new:5000", plain_http=True))
        self.assertIn("/etc/containerd/certs.d/new:5000/hosts.toml", session.written())
        self.assertIn('server = "http://new:5000"\n\n[host."http://new:5000"]\n', text)
        self.assertEqual(text, self.trusted(text, Registry("new:5000", plain_http=True))[0])

    def test_containerd_is_told_of_a_ca(self) -> None:
        text, session = self.trusted("", Registry("new", certificate=b"CA"))
        path = "/etc/containerd/certs.d/new/tacker-mgmt-drivers.crt"
        self.assertEqual(b"CA", session.written()[path])
        self.assertIn(f'[host."https://new"]\nca = "{path}"\n', text)

    def test_containerd_logs_in_where_kubernetes_images_are(self) -> None:
        """containerd shows a header with every request to the host (its hosts.md)."""
        login = Login("me", Secret("p"))
        text, session = self.trusted("", Registry("new", login=login, has_kubernetes=True))
        header = '[host."https://new".header]\nauthorization = "Basic bWU6cA=="\n'
        self.assertIn(f'[host."https://new"]\n{header}', text)
        self.assertIn("0600", session.ran[-1])
        self.assertNotIn("bWU6cA==", str(session.commands))
        text, session = self.trusted(text, Registry("new", login=login))
        self.assertNotIn("authorization", text)
        self.assertIn("0644", session.ran[-1])

    def test_docker_logs_in_with_the_logins_of_kubelet(self) -> None:
        for server, config in (("new", ("--config", "/var/lib/kubelet")), ("other", ())):
            host, session = fake_host()
            session.expect("sudo", "docker", *config, "pull", "--quiet", f"{server}/pause:3")
            registry = Registry("new", login=Login("me", Secret("p")), has_kubernetes=True)
            Docker([registry]).pull(host, f"{server}/pause:3")
            session.assert_done()

    def test_containerd_knows_docker_hub(self) -> None:
        host, session = fake_host()
        Containerd().trust(host, [Registry("docker.io")], ())
        session.assert_done()
        text, session = self.trusted("", Registry("docker.io", certificate=b"CA of a proxy"))
        self.assertIn("/etc/containerd/certs.d/docker.io/hosts.toml", session.written())
        self.assertIn('server = "https://registry-1.docker.io"\n', text)

    def test_what_the_image_brought_for_a_registry_stays(self) -> None:
        mirror = 'server = "https://x"\n[host."https://mirror"]\n'
        text, _ = self.trusted(mirror, Registry("x"))
        self.assertTrue(text.startswith(mirror))
        self.assertEqual(1, text.count("server ="))
        self.assertIn('[host."https://x"]\n', text)
        own = '[host."https://x"]\nskip_verify = true\n'
        self.assertEqual(own, self.trusted(own, Registry("x"))[0])


class LoadBalancerTest(unittest.TestCase):
    def test_haproxy_has_each_master_once(self) -> None:
        text = haproxy.render([("master-1", "192.0.2.11"), ("master-12", "192.0.2.12")])
        self.assertEqual(2, text.count("    server "))
        self.assertIn("    server master-1 192.0.2.11:6443\n", text)
        self.assertIn("httpchk GET /readyz", text)

    def test_one_source_leaves_connections_for_others(self) -> None:
        frontend = haproxy.render([]).partition("frontend kubernetes\n")[2].partition("\n\n")[0]
        lines = [line.strip() for line in frontend.splitlines()]
        track, reject = "tcp-request connection track-sc0 src", "tcp-request connection reject if"
        self.assertIn("stick-table type ip size 100k expire 30s store conn_cur", lines)
        self.assertLess(lines.index(track), lines.index(f"{reject} {{ sc0_conn_cur gt 1000 }}"))

    def test_keepalived_peers_and_ranks(self) -> None:
        others = ["192.0.2.11", "192.0.2.13"]
        text = keepalived.render(VIP, "192.0.2.12", "eth1", others, rank=1)
        for line in ("nopreempt", "interface eth1", "priority 199", "advert_int 1\n", f"{VIP}/32",
                     "    max_auto_priority 20\n}",
                     "garp_master_refresh 5\n", "unicast_src_ip 192.0.2.12",
                     "        192.0.2.13\n"):
            self.assertIn(line, text)

    def test_keepalived_takes_adverts_of_peers_alone(self) -> None:
        text = keepalived.render(VIP, "192.0.2.12", "eth1", ["192.0.2.11"], rank=1)
        settings = text.partition("global_defs {")[2].partition("}")[0].split("\n")
        self.assertIn("    vrrp_check_unicast_src", settings)

    def test_router_ids_are_valid_and_of_the_address(self) -> None:
        ids = set()
        for last in range(256):
            text = keepalived.render(f"192.0.2.{last}", "a", "b", [], rank=0)
            ids.add(text.partition("virtual_router_id ")[2].split()[0])
        self.assertTrue(all(1 <= int(number) <= 255 for number in ids))
        self.assertGreaterEqual(len(ids), 255)


_OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


class PodNetworkTest(unittest.TestCase):
    def manifest(self, text: str, is_default: bool, **changes: Any) -> KubernetesParams:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name, "cni.yaml")
        path.write_text(text)
        return params(cni_manifest=path, is_default_cni=is_default, **changes)

    def test_the_manifest_gets_the_pod_cidr(self) -> None:
        made = self.manifest(f"{_OBJECT}net: '@POD_CIDR@'\n", is_default=False)
        (thing,) = addons.of_pod_network(made)
        self.assertEqual("192.168.0.0/16", thing["net"])

    def test_only_images_of_the_default_manifest_follow_the_image_repository(self) -> None:
        text = f"{_OBJECT}spec: [{{image: ghcr.io/flannel-io/flannel:v1}}]\nimage: a/b:1\n"
        repository = ImageRepository("r:5000/k", plain_http=True)
        for is_default, given, wanted, pulled in (
            (True, repository, ["r:5000/k/flannel:v1", "r:5000/k/b:1"], True),
            (True, None, ["ghcr.io/flannel-io/flannel:v1", "a/b:1"], True),
            (False, repository, ["ghcr.io/flannel-io/flannel:v1", "a/b:1"], False),
        ):
            made = self.manifest(text, is_default, image_repository=given)
            (thing,) = addons.of_pod_network(made)
            self.assertEqual(wanted, [thing["spec"][0]["image"], thing["image"]])
            self.assertEqual(sorted(wanted) if pulled else [], addons.images(made, True))
            self.assertEqual([], addons.images(made, False))

    def test_images_within_texts_and_no_images(self) -> None:
        text = (
            f"{_OBJECT}data:\n  pod.yaml: |\n    spec:\n    - image: \"a/b:1\"\n"
            "---\napiVersion: x/v1\nkind: CustomResourceDefinition\nmetadata: {name: b}\n"
            "description: |\n  image: of-a-pod\n"
        )
        made = self.manifest(text, True, image_repository=ImageRepository("r:5000/k"))
        self.assertEqual(["r:5000/k/b:1"], addons.images(made, True))
        self.assertIn('image: "r:5000/k/b:1"', addons.of_pod_network(made)[0]["data"]["pod.yaml"])

    def test_the_default_manifest_names_images_and_the_pod_cidr(self) -> None:
        made = params(cni_manifest=FLANNEL, is_default_cni=True)
        flannel = [found for found in addons.images(made, True) if "flannel:" in found]
        self.assertEqual(1, len(flannel), flannel)
        text = manifests.text_of(addons.of_pod_network(made))
        self.assertIn('\\"Network\\": \\"192.168.0.0/16\\"', text)
        self.assertNotIn("@", text)


