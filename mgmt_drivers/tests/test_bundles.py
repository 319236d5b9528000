"""Bundles: on the registry's machine, and as clusters without internet use them."""

import io
import json
import socket
import ssl
import subprocess
import tarfile
import tempfile
import threading
import unittest
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from mgmt_drivers import private_registry_v2
from mgmt_drivers.cluster.packages import node_packages
from mgmt_drivers.cluster.packages.install_packages import UseOfflineRegistry
from mgmt_drivers.cluster.packages.repository_params import CA_FILE, KEY_FILE, OfflineRegistry
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED
from mgmt_drivers.errors import MgmtDriverError, ParameterError, WaitTimeout
from mgmt_drivers.machine.script import Script
from mgmt_drivers.operations import registry
from mgmt_drivers.registry import bundles, package_server
from mgmt_drivers.registry.bundles import ServePackages, UnpackBundles, WaitForPackages
from mgmt_drivers.registry.registry_params import (
    MODIFICATION,
    NAME,
    Bundle,
    PrivateRegistryParams,
    Tls,
)
from mgmt_drivers.secret import Secret
from mgmt_drivers.testing import fake_cluster
from mgmt_drivers.testing.fakes import MemoryStore, fake_host
from mgmt_drivers.testing.made_certificates import authority, key_and_certificate, signed
from mgmt_drivers.tests import test_kubernetes_params, test_params, test_v2

_PACKAGES = "/var/lib/private_registry/packages"


class ParamsTest(test_params.ParamsTestCase):
    def setUp(self) -> None:
        super().setUp()
        key, certificate = key_and_certificate()
        self.tls = {
            "tls_certificate_path": self.write("tls.crt", certificate),
            "tls_key_path": self.write("tls.key", key),
        }
        self.path = self.write("bundle.tar", "a bundle")

    def bundle_errors(self, *given: Any, **params: Any) -> list[str]:
        found = self.errors(bundles=[*given], **params)
        return [error.removeprefix(f"{NAME}.") for error in found]

    def test_bundles(self) -> None:
        url = {"url": "http://files/2.tar", "sha256": "AB" * 32}
        found = self.read(bundles=[{"path": self.path}, url], port_no=6000, **self.tls)
        self.assertEqual(6001, found.packages_port)
        first, second = found.bundles
        self.assertEqual(("bundle.tar", "http://files/2.tar"), (first.name, second.name))
        self.assertEqual("ab" * 32, second.digest)
        self.assertEqual(64, len(first.digest))

    def test_what_is_wrong_with_bundles(self) -> None:
        good = {"path": self.path}
        for given, params, error in (
            ({}, self.tls, "bundles[0].path: missing, or url instead"),
            ({"url": "http://a/b"}, self.tls, "bundles[0].sha256: missing beside url"),
            ({**good, "url": "http://a/b", "sha256": "ab" * 32}, self.tls,
             "bundles[0].url: cannot be combined with path"),
            (good, {}, "bundles: needs tls_certificate_path and tls_key_path: clusters use HTTPS"),
            (good, {**self.tls, "htpasswd_path": self.write("htpasswd", "")},
             "htpasswd_path: cannot be combined with bundles, which are for all"),
            (good, {**self.tls, "push_port_no": 5001},
             "push_port_no: must be another port than that of packages"),
            (good, {**self.tls, "port_no": 65535},
             "port_no: must leave a port behind it, for packages"),
        ):  # fmt: skip
            with self.subTest(error):
                self.assertIn(error, self.bundle_errors(given, **params))

    def test_a_modification_adds_bundles_to_those_of_the_request(self) -> None:
        other, store = {"url": "http://files/2.tar", "sha256": "ab" * 32}, MemoryStore()
        first = {"path": self.path}
        values = {**test_params.GOOD, **self.tls, "bundles": [first]}
        request = self.request({NAME: values})
        given: Any
        for given in ({"bundles": [other, first]}, json.dumps({"bundles": [other]})):
            modified = registry.validate_modification(request, store, given)
            found = modified.additional_params[NAME]["bundles"]
            self.assertEqual([first, other], found)
            store.save_secret("bundles", found)
        for given, error in (
            ("{", f"{MODIFICATION}: must be an object, or its text in JSON"),
            ({"bundles": [{}]}, f"{MODIFICATION}.bundles[0].path: missing"),
            ({"port_no": 1}, f"{MODIFICATION}.bundles: missing"),
        ):
            with self.assertRaises(ParameterError) as caught:
                registry.validate_modification(request, store, given)
            self.assertIn(error, str(caught.exception))
        request = self.request({NAME: {**values, "bundles": None}})
        with self.assertRaisesRegex(ParameterError, "instantiate a registry with a bundle"):
            registry.validate_modification(request, MemoryStore(), {"bundles": [other]})


class MachineTest(unittest.TestCase):
    """The phases, on a strict fake."""

    def setUp(self) -> None:
        self.host, self.session = fake_host()
        self.addCleanup(self.session.assert_done)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name in ("tls.crt", "tls.key", "bundle.tar"):
            (self.folder / name).write_text(name)

    def params(self, *given: Bundle, **values: Any) -> PrivateRegistryParams:
        tls = Tls(self.folder / "tls.crt", self.folder / "tls.key")
        login = ("CP1", "ubuntu", Secret("pass"))
        return PrivateRegistryParams(*login, tls=tls, bundles=given, **values)

    def test_a_bundle_is_unpacked_once(self) -> None:
        packed = Bundle(self.folder / "bundle.tar")
        params = self.params(packed, Bundle(url="http://files/2.tar", sha256="ab" * 32))
        self.session.expect_facts("debian 13", note=f"bundle-{packed.digest}")
        note = f"/var/lib/tacker-mgmt-drivers/bundle-{'ab' * 32}"
        self.session.expect("sudo", "python3", "-c")
        self.session.expect("sudo", "test", "-d", f"{_PACKAGES}/debian-13", status=1)
        self.session.expect("sudo", "write-files", note, "0644", "0")
        self.assertEqual(CHANGED, UnpackBundles().step(self.host, params))
        fetching = self.session.commands[1]
        self.assertEqual(("unpack-bundle", "/var/lib/private_registry"), fetching[-2:])
        self.assertEqual(
            {"url": "http://files/2.tar", "sha256": "ab" * 32}, json.loads(self.session.stdin[1])
        )

    def test_the_note_is_written_at_last(self) -> None:
        """An attempt that ends before unpacks again, and lets apt know the packages."""
        packed = Bundle(self.folder / "bundle.tar")
        self.session.expect_facts("debian 13")
        self.session.expect("sudo", "unpack-bundle", "/var/lib/private_registry")
        self.session.expect("sudo", "test", "-d", f"{_PACKAGES}/debian-13")
        self.session.expect("sudo", "write-files")
        self.assertEqual(CHANGED, UnpackBundles().step(self.host, self.params(packed)))
        *others, (path, content) = self.session.written().items()
        note = f"/var/lib/tacker-mgmt-drivers/bundle-{packed.digest}"
        self.assertEqual((note, b""), (path, content))
        line = f"deb [trusted=yes] file:{_PACKAGES}/debian-13/ /\n".encode()
        self.assertEqual(line, dict(others)["/etc/apt/sources.list.d/kubernetes.list"])

    def test_nothing_is_unpacked_again(self) -> None:
        packed = Bundle(self.folder / "bundle.tar")
        self.session.expect_facts("debian 13", note=f"bundle-{packed.digest}")
        self.assertEqual(UNCHANGED, UnpackBundles().step(self.host, self.params(packed)))

    def test_a_file_that_is_no_bundle(self) -> None:
        self.session.expect_facts("debian 13")
        self.session.expect("sudo", "unpack-bundle", status=2, stderr="no tar archive")
        with self.assertRaisesRegex(MgmtDriverError, "bundle.tar cannot be unpacked. .*no tar"):
            UnpackBundles().step(self.host, self.params(Bundle(self.folder / "bundle.tar")))

    def test_packages_that_nobody_serves(self) -> None:
        params = self.params(Bundle(self.folder / "bundle.tar"), port=6000)
        self.session.expect_polling("sudo", "ask-registry", "6001", "tls", stdout="")
        self.session.expect("sudo", "systemctl", "status", stdout="Address already in use")
        with self.assertRaisesRegex(WaitTimeout, "port 6001.*its log ends: Address already in use"):
            WaitForPackages().step(self.host, params)

    def test_the_key_of_the_certificate_is_roots(self) -> None:
        params = self.params(Bundle(self.folder / "bundle.tar"))
        self.session.expect("sudo", "show-unit", bundles.SERVICE, status=1)
        found = ServePackages().look(self.host, params)
        assert found
        modes = {file.path: file.mode for file in found}
        self.assertEqual("0600", modes["/etc/private_registry/tls.key"])
        (unit,) = (file.content for file in found if file.path.endswith(".service"))
        self.assertIn(f"package-server.py {_PACKAGES} 5001 ", str(unit))


class PayloadTest(unittest.TestCase):
    """The script and the server themselves."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def unpack(self, *releases: str, cut: int | None = None) -> subprocess.CompletedProcess[bytes]:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as archive:
            names = [f"packages/{release}/debian-13/Packages" for release in releases]
            for name in ["images/docker/registry/v2/blob", "key.asc", *names]:
                member = tarfile.TarInfo(name)
                member.size = len(name)
                archive.addfile(member, io.BytesIO(name.encode()))
        script = Script("mgmt_drivers.registry", "unpack-bundle")
        command = script.command(f"{self.folder}/data")
        data = stream.getvalue()[:cut]
        return subprocess.run(command, input=data, capture_output=True, check=False)

    def test_images_and_packages_of_several_bundles(self) -> None:
        for release in ("1.36.4", "1.37.10", "1.37.9"):
            self.assertEqual(b"", self.unpack(release).stderr)
        data = self.folder / "data"
        self.assertTrue((data / "docker/registry/v2/blob").is_file())
        self.assertFalse((data / "key.asc").exists())
        packages = data / "packages"
        links = {p.name: str(p.readlink()) for p in packages.iterdir() if p.is_symlink()}
        wanted = {"1.36": "1.36.4", "1.37": "1.37.10", "debian-13": "1.37.10/debian-13"}
        self.assertEqual(wanted, links)
        self.assertFalse((data / "new").exists())

    def test_a_client_reads_a_file_that_another_bundle_has_too(self) -> None:
        self.unpack("1.36.4")
        data = self.folder / "data"
        blob, whole = data / "docker/registry/v2/blob", b"images/docker/registry/v2/blob"
        (data / "new/images").mkdir(parents=True)  # of an attempt that was killed
        for cut, is_good in ((1000, False), (None, True)):
            self.assertEqual(is_good, self.unpack("1.37.2", cut=cut).returncode == 0)
            self.assertEqual(whole, blob.read_bytes())
            self.assertEqual({"docker", "packages"}, {path.name for path in data.iterdir()})

    def test_packages_over_https(self) -> None:
        made = signed("127.0.0.1")
        names = [str(self.folder / name) for name in ("crt", "key")]
        for name, content in zip(names, (made.certificate, made.key), strict=True):
            Path(name).write_bytes(content)
        (self.folder / "packages").mkdir()
        (self.folder / "packages/a+b_1.deb").write_text("a package")
        server = package_server.serve(f"{self.folder}/packages", 0, *names)
        self.addCleanup(server.server_close)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        url = f"https://127.0.0.1:{server.server_address[1]}"
        trusting = ssl.create_default_context(cadata=made.ca.decode())
        with socket.create_connection(("127.0.0.1", server.server_address[1])):  # and says nothing
            with urllib.request.urlopen(f"{url}/a%2bb_1.deb", context=trusting) as answer:
                self.assertEqual(b"a package", answer.read())
            with self.assertRaisesRegex(urllib.error.HTTPError, "404"):
                urllib.request.urlopen(f"{url}/v2/", context=trusting)
        other = ssl.create_default_context(cadata=signed("127.0.0.1").ca.decode())
        with self.assertRaisesRegex(urllib.error.URLError, "CERTIFICATE_VERIFY_FAILED"):
            urllib.request.urlopen(url, context=other)


class ClusterTest(test_kubernetes_params.ParamsTestCase):
    def setUp(self) -> None:
        super().setUp()
        (self.package / KEY_FILE).parent.mkdir(parents=True)
        (self.package / KEY_FILE).write_text("the key")
        self.ca = authority("CA")[1]
        (self.package / CA_FILE).write_bytes(self.ca)

    def values(self) -> dict[str, Any]:
        return {**super().values(), "offline_registry": "10.10.0.251"}

    def test_all_follows_from_the_address(self) -> None:
        found = self.read({**self.values(), "kubernetes_version": "1.37.2"})
        assert found.image_repository
        self.assertEqual("10.10.0.251:5000/kubernetes", found.image_repository.reference)
        url = "https://10.10.0.251:5001/1.37.2/{system}/"
        self.assertEqual(url, found.package_repository.url)
        self.assertEqual(b"the key", found.package_repository.read_key())
        (registry,) = found.registries
        self.assertEqual("https://10.10.0.251:5000", registry.url)
        self.assertEqual(self.ca, registry.certificate)
        named = {"server": "10.10.0.251:5000", "connection_type": "1"}
        own = {**self.values(), "private_registry_connection_info": [named]}
        (registry,) = self.read(own).registries
        self.assertEqual((True, self.ca), (registry.has_kubernetes, registry.certificate))
        old = self.read({**self.values(), "offline_registry": "r.lab:6000",
                         "kubernetes_version": "1.20"})
        self.assertEqual("https://r.lab:6001/1.20/{system}/", old.package_repository.url)

    def test_what_is_wrong_with_it(self) -> None:
        for changes, error in (
            ({"offline_registry": "http://a"}, "offline_registry: must be the registry's address"),
            ({"offline_registry": "a:0"}, "offline_registry: must be the registry's address"),
            ({"image_repository": "a/b"}, "image_repository: follows from offline_registry"),
            ({"package_repository": {"url": "https://a"}}, "package_repository: follows from offl"),
            ({"offline_registry": "192.168.0.5"}, "pod_cidr: 192.168.0.5 of offline_registry lies"),
        ):
            with self.subTest(error):
                self.assertIn(error, "\n".join(self.errors({**self.values(), **changes})))
        for name in (KEY_FILE, CA_FILE):
            (self.package / name).unlink()
            text = f"offline_registry: the VNF package has no file {name}"
            self.assertIn(text, "\n".join(self.errors(self.values())))

    def test_apt_knows_the_registry_alone(self) -> None:
        offline = OfflineRegistry("10.10.0.251", 5000, self.package / KEY_FILE, self.ca)
        made, sessions = fake_cluster.cluster(
            offline=offline, package_repository=offline.packages("1.37")
        )
        host, session = made.hosts[0], next(iter(sessions.values()))
        session.expect_facts("ubuntu 22.04")
        session.expect("sudo", "digest-files", status=1)
        session.expect("sudo", "write-files", "/etc/apt/keyrings/kubernetes.asc")
        self.assertEqual(CHANGED, UseOfflineRegistry().step(host, made))
        written = session.written()
        url = "https://10.10.0.251:5001/1.37/ubuntu-22.04/"
        keyring = "/etc/apt/keyrings/kubernetes.asc"
        self.assertEqual(
            f"deb [signed-by={keyring}] {url} /\n".encode(),
            written["/etc/apt/sources.list.d/kubernetes.list"],
        )
        self.assertEqual(url, node_packages.settings(host, made, ())["PACKAGE_REPOSITORY"])


class HookTest(test_v2.ScriptTest):
    def test_a_faulty_modification_is_refused_at_its_start(self) -> None:
        call = self.call("modify_information_start", request={"metadata": {MODIFICATION: "{"}})
        with self.assertRaisesRegex(ParameterError, f"{MODIFICATION}: must be an object"):
            private_registry_v2.modify_information_start(call)
        other = self.call("modify_information_start", request={"metadata": {"site": "north"}})
        private_registry_v2.modify_information_start(other)
        private_registry_v2.modify_information_end(other)
