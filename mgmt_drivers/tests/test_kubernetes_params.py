"""k8s_cluster_installation_param: defaults, what is taken over, and every error with its path."""

import base64
import io
import tempfile
import unittest
from pathlib import Path
from typing import Any

import paramiko
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from mgmt_drivers.cluster.cluster_checks import read_params
from mgmt_drivers.cluster.cluster_params import DEFAULT_CNI_MANIFEST, KubernetesParams
from mgmt_drivers.cluster.packages.script_params import DECLARATION
from mgmt_drivers.cluster.series import DEFAULT_VERSION
from mgmt_drivers.errors import ParameterError
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.ssh.hostkeys import KnownKey

_HOT = """
heat_template_version: 2013-05-23
resources:
  vip_CP: {type: OS::Neutron::Port}
  vip_FIP: {type: OS::Neutron::FloatingIP}
  server: {type: OS::Nova::Server}
"""


_BAD_HOST_KEYS = (
    "SHA256:", f"SHA256:{'a' * 43}", f"SHA256:{'a' * 44}", "MD5:" + ":".join(["ab"] * 16), "x",
    "ssh-ed25519", "ssh-ed25519 AAAA", "ssh-ed25519 é", "ssh-dss AAAAB3NzaC1kc3MAAA",
    "@cert-authority * ssh-rsa AAAA",
)


_OBJECT = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n"
_OBJECTS = f"{_OBJECT}---\n{_OBJECT}"


class ParamsTestCase(unittest.TestCase):
    """A VNF package, and requests with parameters for it."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.package = Path(folder.name)
        (self.package / "BaseHOT/complex/nested").mkdir(parents=True)
        (self.package / "BaseHOT/complex/top.yaml").write_text(_HOT)
        for name in ("install.sh", "key.asc", "text.yaml"):
            (self.package / name).write_text(f"{DECLARATION}\nsome text")
        self.more_cps: dict[str, str] = {}
        for path in ("cni.yaml", DEFAULT_CNI_MANIFEST):
            (self.package / path).parent.mkdir(parents=True, exist_ok=True)
            (self.package / path).write_text(_OBJECTS)

    def values(self) -> dict[str, Any]:
        group = {"username": "ubuntu", "password": "hidden"}
        master = {"ssh_cp_name": "CP1", "nic_cp_name": "CP1", "cluster_cp_name": "vip_CP"}
        return {
            "script_path": "install.sh",
            "master_node": {"aspect_id": "masters", **master, **group},
            "worker_node": {"ssh_cp_name": "CP2", "nic_cp_name": "CP2", **group},
        }

    def read(self, values: Any, operation: str = "instantiate") -> KubernetesParams:
        request = LcmRequest(
            operation=operation,
            vnf_instance_id="vnf-1",
            package=self.package,
            cps={"CP1": "masterNode", "CP2": "workerNode", **self.more_cps},
            aspects=frozenset({"masters"}),
            flavour="complex",
            additional_params={"k8s_cluster_installation_param": values},
        )
        return read_params(request)

    def errors(self, values: Any) -> list[str]:
        with self.assertRaises(ParameterError) as caught:
            self.read(values)
        return [error.removeprefix("k8s_cluster_installation_param.") for error in
                caught.exception.errors]


class ParamsTest(ParamsTestCase):
    def test_defaults(self) -> None:
        found = self.read(self.values())
        self.assertEqual(("192.168.0.0/16", "10.96.0.0/12"), (
            str(found.pod_cidr), str(found.service_cidr)))
        self.assertEqual("containerd", found.container_runtime)
        self.assertEqual(DEFAULT_VERSION, found.version)
        self.assertIn(f"v{DEFAULT_VERSION}/deb/", found.package_repository.url)
        self.assertIsNone(found.image_repository)

    def test_everything(self) -> None:
        values = self.values()
        values["vim_name"] = "cluster"
        values["kubernetes_version"] = "v1.20.2"
        values["package_repository"] = {"url": "http://mirror/apt", "key_path": "key.asc"}
        values["image_repository"] = "http://registry:5000/k8s/"
        values["private_registry_connection_info"] = [{"connection_type": 1, "server": "lab:80"}]
        values["container_runtime"] = "docker"
        values["cni_manifest_path"] = "cni.yaml"
        values["proxy"] = {"http_proxy": "http://p:3128", "no_proxy": "10.0.0.1",
                           "k8s_node_cidr": "10.10.0.0/24"}
        values["master_node"] |= {"pod_cidr": "172.16.3.0/16", "cluster_cidr": "10.199.187.0/24",
                                  "cluster_fip_name": "vip_FIP"}
        found = self.read(values)
        self.assertEqual("1.20.2", str(found.version))
        self.assertEqual("v1beta2", found.series.kubeadm_api)
        self.assertEqual("http://mirror/apt/", found.package_repository.url)
        assert found.image_repository and found.proxy
        self.assertEqual(("registry:5000/k8s", "registry:5000", True), (
            found.image_repository.reference, found.image_repository.server,
            found.image_repository.plain_http))
        self.assertEqual(["lab:80", "registry:5000"], [r.server for r in found.registries])
        self.assertEqual(("10.0.0.1", "10.10.0.0/24"), found.proxy.no_proxy)
        self.assertEqual("172.16.0.0/16", str(found.pod_cidr))
        self.assertNotIn("hidden", repr(found))

    def test_the_registry_of_kubernetes_images_may_have_a_login(self) -> None:
        values = self.values()
        values["image_repository"] = "r:1/k8s"
        login = {"username": "u", "password": "p"}
        values["private_registry_connection_info"] = [
            {"connection_type": 1, "server": "r:1", **login},
            {"connection_type": 1, "server": "r:2", **login},
        ]
        found = self.read(values).registries
        self.assertEqual(["r:1", "r:2"], [registry.server for registry in found])
        self.assertEqual([True, False], [registry.shown_login is not None for registry in found])
        del values["image_repository"]
        self.assertFalse([r for r in self.read(values).registries if r.shown_login])

    def test_host_keys(self) -> None:
        key = paramiko.ECDSAKey.generate()
        line = f"{key.get_name()} {key.get_base64()}"
        print_ = f"SHA256:{'ab' * 21}A"
        values = self.values()
        values["worker_node"]["host_key"] = [f"{line} root@machine", print_]
        found = self.read(values)
        known = [KnownKey.parse(line), KnownKey(print_)]
        self.assertEqual(known, list(found.worker.login.host_keys))
        self.assertEqual(("ecdsa-sha2-nistp256", ()), (known[0].type, found.master.login.host_keys))
        for value, words in (
            (line, "worker_node.host_key: must be a list of strings, not a string"),
            ([], "worker_node.host_key: must be a list with at least one string"),
            ([print_, None], "worker_node.host_key[1]: missing"),
            ([print_, 7], "worker_node.host_key[1]: must be a string that is not empty"),
            *(([bad], "worker_node.host_key[0]: must be a public key as OpenSSH writes it, ")
              for bad in _BAD_HOST_KEYS),
            ([f"ssh-rsa {key.get_base64()}"], "worker_node.host_key[0]: must be a public key"),
            ([f"{key.get_name()} {key.get_base64()[:-8]}"], "worker_node.host_key[0]: must be a"),
        ):
            values["worker_node"]["host_key"] = value
            with self.subTest(value):
                (error,) = self.errors(values)
                self.assertIn(words, error)

    def test_private_key_instead_of_password(self) -> None:
        text = io.StringIO()
        paramiko.ECDSAKey.generate().write_private_key(text)
        values = self.values()
        del values["worker_node"]["password"]
        values["worker_node"]["private_key"] = text.getvalue()
        found = self.read(values)
        self.assertIsNone(found.worker.login.password)
        self.assertIn(text.getvalue(), [secret.reveal() for secret in found.secrets()])
        values["worker_node"]["private_key"] = "no key"
        self.assertIn("worker_node.private_key: not an SSH", self.errors(values)[0])

    def test_a_key_with_a_flipped_byte_is_an_error_with_its_path(self) -> None:
        text = ed25519.Ed25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        ).decode()
        head, *lines, foot = text.strip().split("\n")
        whole = base64.b64decode("".join(lines))
        for number in range(len(whole)):
            flipped = bytearray(whole)
            flipped[number] ^= 0x41
            values = self.values()
            broken = base64.b64encode(flipped).decode()
            values["worker_node"]["private_key"] = f"{head}\n{broken}\n{foot}\n"
            try:
                self.read(values)
            except ParameterError as error:
                self.assertIn("worker_node.private_key: not an SSH", error.errors[0])

    def test_nonsense_is_refused(self) -> None:
        for key, values in (
            ("image_repository", ("-", "é:5000/x", "http://..", "r:1/A", "r:99999", "r//x")),
            ("kubernetes_version", ("1.٣٣", "1.33." + "9" * 5000)),
            ("vim_name", ("a\nb", "\u202e", "\x7f")),
            ("script_path", ("x" * 300, "a\0b", "\ud800")),
        ):
            for value in values:
                with self.subTest(key=key, value=value[:20]):
                    (error,) = self.errors({**self.values(), key: value})
                    self.assertTrue(error.startswith(f"{key}: "), error)

    def test_apt_goes_direct_where_a_network_of_no_proxy_has_the_repository(self) -> None:
        values = self.values()
        values["proxy"] = {"http_proxy": "http://p", "no_proxy": "10.1.0.0/16"}
        for address, wanted in (("10.1.0.3", ("10.1.0.0/16", "10.1.0.3")),
                                ("10.2.0.3", ("10.1.0.0/16",))):
            values["package_repository"] = {"url": f"http://{address}/apt", "key_path": "key.asc"}
            found = self.read(values)
            assert found.proxy
            self.assertEqual(wanted, found.proxy.no_proxy)

    def test_every_vdu_must_be_told_of(self) -> None:
        self.more_cps = {"CP3": "storage", "CP4": "storage"}
        self.assertEqual(
            ["worker_pools: no parameter names a CP of VDU storage: CP3, CP4"],
            self.errors(self.values()),
        )

    def test_a_storage_server_may_be_left_out(self) -> None:
        volume = "resources: {volume: {type: OS::Cinder::Volume}}"
        (self.package / "BaseHOT/complex/nested/storage.yaml").write_text(volume)
        self.assertIsNone(self.read(self.values()).unmanaged_vdu)
        self.more_cps = {"CP3": "storage", "CP4": "storage"}
        self.assertEqual("storage", self.read(self.values()).unmanaged_vdu)
        # Which of two it is cannot be told; and the workers' may not be left out.
        self.more_cps["CP5"] = "other"
        self.assertEqual(2, len(self.errors(self.values())))
        self.more_cps = {"CP4": "masterNode"}
        values = self.values()
        values["worker_node"]["nic_cp_name"] = "CP4"
        (error,) = self.errors(values)
        self.assertTrue(error.startswith("worker_node.nic_cp_name: must be another"), error)

    def test_a_script_of_another_kind_is_refused_where_nothing_was_made_with_it(self) -> None:
        script = self.package / "install.sh"
        script.write_text("#!/bin/bash\nwhile getopts m:w:i: option; do :; done\n")
        (error,) = self.errors(self.values())
        for words in (
            "script_path: install.sh does not declare the drivers' contract by a line '# Contract:",
            "no arguments but environment variables", "k8s-vnf package migrate FOLDER",
        ):
            self.assertIn(words, error)
        self.assertEqual(script, self.read(self.values(), "heal").script)

    def test_masters_at_floating_ips_need_one_for_the_cluster(self) -> None:
        values = self.values()
        values["master_node"]["ssh_cp_name"] = "vip_FIP"
        (error,) = self.errors(values)
        self.assertIn("master_node.cluster_fip_name: missing: ", error)
        self.assertIn("the VNF package has: vip_FIP", error)
        self.assertIsNone(self.read(values, "scale out").master.cluster_fip_name)
        values["master_node"]["cluster_fip_name"] = "vip_FIP"
        self.assertEqual("vip_FIP", self.read(values).master.cluster_fip_name)

    def test_a_worker_node_with_a_cp_of_the_masters(self) -> None:
        self.more_cps = {"CP4": "masterNode"}
        values = self.values()
        for cp in ("CP4", "CP1"):
            values["worker_node"]["nic_cp_name"] = cp
            (error,) = self.errors(values)
            words = "must be another VDU's CP than that of master_node"
            self.assertTrue(error.startswith(f"worker_node.nic_cp_name: {words}"), error)

    def test_a_nodes_cp_is_not_the_storage_servers(self) -> None:
        self.more_cps = {"CP3": "storage"}
        values = self.values()
        values["storage_server"] = {"ssh_cp_name": "CP2"}
        errors = self.errors(values)
        words = "storage_server.ssh_cp_name: the VNF package has no storage server's CP CP2; it has"
        self.assertTrue(any(words in error for error in errors), errors)

    def test_all_errors_together(self) -> None:
        values = self.values()
        values["script_path"] = "nothing.sh"
        values["colour"] = "blue"
        values["kubernetes_version"] = "1.9"
        values["image_repository"] = "ftp://registry"
        values["cni_manifest_path"] = "text.yaml"
        values["master_node"] |= {"ssh_cp_name": "server", "pod_cidr": "10.0.0.0/25",
                                  "cluster_cidr": "10.0.0.0/16", "cluster_fip_name": "none"}
        values["worker_node"] = {"aspect_id": "workers", "nic_cp_name": "CP1"}
        paths = [error.partition(":")[0] for error in self.errors(values)]
        self.assertEqual(
            {
                "script_path", "colour", "kubernetes_version", "image_repository",
                "cni_manifest_path", "master_node.ssh_cp_name", "master_node.pod_cidr",
                "master_node.cluster_cidr", "master_node.cluster_fip_name",
                "worker_node.aspect_id", "worker_node.ssh_cp_name", "worker_node.username",
                "worker_node.password", "worker_node.nic_cp_name",
            },
            set(paths),
        )

    def test_addresses_that_the_request_names_lie_outside_the_clusters_networks(self) -> None:
        """Only where no cluster is yet: one that works must heal."""
        inside = {
            "private_registry_connection_info": [{
                "connection_type": 1, "server": "192.168.7.1:5000",
                "hosts_string": "192.168.3.20 registry.example.com",
            }],
            "proxy": {"http_proxy": "http://me:Pl4nted@192.168.1.1:3128", "https_proxy": "http://p"},
            "package_repository": {"url": "https://10.96.0.9/apt/"},
            "image_repository": "http://10.97.0.2:5000/k8s",
        }
        with self.assertRaises(ParameterError) as caught:
            self.read({**self.values(), **inside})
        found = str(caught.exception)
        for words in (
            "pod_cidr: 192.168.7.1 of private_registry_connection_info[0].server lies in 192.168.",
            "pod_cidr: 192.168.3.20 of private_registry_connection_info[0].hosts_string lies in",
            "pod_cidr: 192.168.1.1 of proxy.http_proxy lies in",
            "cluster_cidr: 10.96.0.9 of package_repository.url lies in",
            "cluster_cidr: 10.97.0.2 of image_repository lies in",
        ):
            self.assertIn(words, found)
        self.assertNotIn("Pl4nted", found)
        self.read({**self.values(), **inside}, operation="heal")

    def test_networks_that_are_nobodys(self) -> None:
        for key in ("pod_cidr", "cluster_cidr"):
            for network in ("127.0.0.0/16", "224.0.0.0/16", "0.0.0.0/0", "169.254.0.0/16"):
                values = self.values()
                values["master_node"][key] = network
                words = f"master_node.{key}: overlaps with "
                self.assertTrue(self.errors(values)[0].startswith(words), network)

    def test_networks_of_services_that_kubernetes_refuses(self) -> None:
        for network, is_good in (
            ("10.16.0.0/11", False), ("10.16.0.0/12", True), ("10.16.0.0/28", True),
            ("10.16.0.0/29", False), ("10.16.0.0/32", False),
        ):
            values = self.values()
            values["master_node"]["cluster_cidr"] = network
            with self.subTest(network):
                if is_good:
                    self.read(values)
                    continue
                (error,) = self.errors(values)
                self.assertEqual("master_node.cluster_cidr: Kubernetes takes a prefix from /12 to "
                                 "/28 for services", error)

    def test_one_error_each(self) -> None:
        cases: list[tuple[dict[str, Any], str]] = [
            ({"master_node": None}, "master_node: missing"),
            ({"worker_node": "x"}, "worker_node: must be an object"),
            ({"package_repository": {"url": "http://mirror"}}, "package_repository.key_path"),
            ({"package_repository": {"url": "HTTP://mirror"}}, "package_repository.key_path"),
            ({"package_repository": {}}, "package_repository.url: missing"),
            ({"kubernetes_version": "1.23"}, "package_repository: missing"),
            ({"package_repository": {"url": "https://me:pw@mirror"}}, "package_repository.url"),
            *(
                ({"package_repository": {"url": url}}, "package_repository.url: must have nothing")
                for url in ("https://mirror/#deb", "https://mirror/?a=b", "https://[::1]/[a")
            ),
            ({"container_runtime": "docker"}, "container_runtime: Kubernetes 1.37 has no support"),
            ({"container_runtime": "rkt"}, "container_runtime: must be one of: containerd, docker"),
            ({"proxy": {"http_proxy": "http://p", "k8s_node_cidr": "x"}}, "proxy.k8s_node_cidr"),
            (
                {"proxy": {"http_proxy": "http://host1:port1"}},
                "proxy.http_proxy: the port of the URL must be a number from 1 to 65535",
            ),
            (
                {"proxy": {"https_proxy": "http://me:p%21@host1:65536"}},
                "proxy.https_proxy: the port of the URL must be a number from 1 to 65535",
            ),
            (
                {"image_repository": "http://r:1/k8s", "private_registry_connection_info": [
                    {"connection_type": 1, "server": "r:1"}]},
                "image_repository: private_registry_connection_info says that it is https://r:1",
            ),
            (
                {"image_repository": "index.docker.io/k8s", "private_registry_connection_info": [
                    {"connection_type": 1, "server": "docker.io", "username": "u",
                     "password": "p"}]},
                "image_repository: must be another registry than Docker Hub, whose logins are for",
            ),
            (
                {"proxy": {"http_proxy": "http://p", "k8s_node_cidr": "192.168.1.0/24"}},
                "master_node.pod_cidr: overlaps with k8s_node_cidr",
            ),
        ]
        for change, error in cases:
            with self.subTest(error):
                errors = self.errors({**self.values(), **change})
                self.assertEqual(1, len(errors), errors)
                self.assertTrue(errors[0].startswith(error), errors)
