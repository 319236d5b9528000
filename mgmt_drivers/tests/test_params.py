"""Parameters: every error is found, together, with its path."""

import contextlib
import gzip
import io
import json
import ssl
import tarfile
import tempfile
import tracemalloc
import unittest
from pathlib import Path
from typing import Any

from mgmt_drivers.errors import ParameterError
from mgmt_drivers.registry.registry_params import (
    NAME,
    ImageArchive,
    PrivateRegistryParams,
    RemoteImage,
    read_params,
)
from mgmt_drivers.registry.settings import containers
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.secret import Secret
from mgmt_drivers.testing.made_certificates import key_and_certificate

GOOD = {"ssh_cp_name": "CP1", "ssh_username": "ubuntu", "ssh_password": "pass"}


def docker_save(path: Path, tags: Any, images: int = 1) -> None:
    """A file as `docker save` writes it, as far as the drivers read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    manifest = json.dumps([{"Config": "c.json", "RepoTags": tags, "Layers": []}] * images).encode()
    with tarfile.open(path, "w") as archive:
        entry = tarfile.TarInfo("manifest.json")
        entry.size = len(manifest)
        archive.addfile(entry, io.BytesIO(manifest))


class ParamsTestCase(unittest.TestCase):
    """A VNF package, and requests with parameters for it."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.package = Path(folder.name)

    def write(self, name: str, content: bytes | str) -> str:
        path = self.package / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return name

    def read(self, **params: Any) -> PrivateRegistryParams:
        """Read good values, changed by ``params``; ... leaves a parameter out."""
        values = {key: value for key, value in {**GOOD, **params}.items() if value is not ...}
        return self.read_all({NAME: values})

    def read_all(self, additional_params: dict[str, Any]) -> PrivateRegistryParams:
        return read_params(self.request(additional_params))

    def request(self, additional_params: dict[str, Any]) -> LcmRequest:
        return LcmRequest("instantiate", "vnf-1", self.package, {"CP1": "VDU1"}, additional_params)

    def errors(self, **params: Any) -> tuple[str, ...]:
        with self.assertRaises(ParameterError) as caught:
            self.read(**params)
        return caught.exception.errors


class ParamsTest(ParamsTestCase):
    def test_defaults(self) -> None:
        params = self.read()
        self.assertEqual(5000, params.port)
        self.assertEqual("pass", params.ssh_password.reveal())
        self.assertIsNone(params.image or params.proxy or params.tls or params.htpasswd)

    def test_a_proxy_as_people_write_it(self) -> None:
        http, https = "http://p:3128", "https://q:3128"
        cases: list[tuple[dict[str, Any], tuple[str, str] | None]] = [
            ({}, None),
            ({"no_proxy": "10.0.0.1"}, None),
            ({"http_proxy": "", "https_proxy": "", "no_proxy": ""}, None),
            ({"http_proxy": None, "https_proxy": None}, None),
            ({"http_proxy": http}, (http, "")),
            ({"http_proxy": http, "https_proxy": "", "no_proxy": ""}, (http, "")),
            ({"https_proxy": https}, ("", https)),
        ]
        for values, wanted in cases:
            with self.subTest(values):
                proxy = self.read(proxy=values).proxy
                urls = proxy and (proxy.http, proxy.https)
                found = urls and tuple(url.reveal() if url else "" for url in urls)
                self.assertEqual(wanted, found)

    def test_section_missing_or_of_wrong_type(self) -> None:
        cases: list[tuple[dict[str, Any], str]] = [
            ({}, f"{NAME}: missing in additionalParams"),
            ({NAME: []}, f"{NAME}: must be an object, not a list"),
        ]
        for values, message in cases:
            with self.assertRaises(ParameterError) as caught:
                self.read_all(values)
            self.assertEqual((message,), caught.exception.errors)

    def test_one_error_each(self) -> None:
        self.write("plain.txt", "no archive")
        docker_save(self.package / "good.tar", ["a:1"])
        docker_save(self.package / "two.tar", ["a:1"], images=2)
        docker_save(self.package / "nameless.tar", None)
        docker_save(self.package / "odd.tar", ["--privileged"])
        with (self.package / "large").open("wb") as file:
            file.truncate((4 << 20) + 1)
        with tarfile.open(self.package / "deep.tar", "w") as archive:
            entry = tarfile.TarInfo("manifest.json")
            entry.size = 500_000
            archive.addfile(entry, io.BytesIO(b"[" * entry.size))
        self.write("bad.htpasswd", "user:{SHA}abc\n")
        users = (("\x1b[2Jme", 5), ("m\0e", 5), ("me", 99), ("me", 3))
        for number, (user, cost) in enumerate(users):
            self.write(f"{number}.htpasswd", f"{user}:$2y${cost:02}${'a' * 53}\n")
        cases: list[tuple[dict[str, Any], str, str]] = [
            ({"ssh_cp_name": ...}, "ssh_cp_name", "missing"),
            ({"ssh_cp_name": "CP2"}, "ssh_cp_name", "the VNF package has no CP CP2; it has: CP1"),
            ({"ssh_username": 7}, "ssh_username", "not a number"),
            ({"ssh_username": ""}, "ssh_username", "not an empty string"),
            ({"ssh_password": "a\nb"}, "ssh_password", "line breaks"),
            ({"ssh_username": "a\x1b[2J"}, "ssh_username", "non-printable"),
            ({"ssh_username": "\ud800"}, "ssh_username", "non-printable"),
            ({"port_no": "9" * 5000}, "port_no", "1 to 65535"),
            ({"port_no": "٥٠٠٠"}, "port_no", "1 to 65535"),
            ({"image_path": "a\0"}, "image_path", "non-printable"),
            ({"image_path": "x" * 256}, "image_path", "File name too long"),
            ({"image_path": "odd.tar"}, "image_path", "RepoTags"),
            ({"image_path": "deep.tar"}, "image_path", "not a file made by `docker save`"),
            ({"image_url": "http://h]"}, "image_url", "must be a URL"),
            ({"image_url": "http://.."}, "image_url", "must be a URL"),
            ({"port_no": 0}, "port_no", "1 to 65535"),
            ({"port_no": "x"}, "port_no", "1 to 65535"),
            ({"host_key": ["SHA256:x"]}, "host_key[0]", "must be a public key"),
            ({"port_no": True}, "port_no", "1 to 65535"),
            ({"htpasswd_path": "large"}, "htpasswd_path", "large is larger than 4 MiB"),
            ({"push_port_no": 5000}, "push_port_no", "another port than port_no"),
            ({"image_path": "none.tar"}, "image_path", "has no file none.tar"),
            ({"image_path": "../etc/passwd"}, "image_path", "outside the VNF package"),
            ({"image_path": "plain.txt"}, "image_path", "not a file made by `docker save`"),
            ({"image_path": "two.tar"}, "image_path", "one image"),
            ({"image_path": "nameless.tar"}, "image_path", "with a name"),
            ({"image_url": "https://me:pw@x/r"}, "image_url", "must not carry a user name"),
            ({"image_url": "r.tar"}, "image_url", "must be a URL"),
            ({"image_url": "https://x/r", "image_path": "good.tar"}, "image_url", "give one of"),
            ({"image_url": "http://x/r", "image_sha256": "ab"}, "image_sha256", "64 hexadecimal"),
            ({"image_sha256": "a" * 64}, "image_sha256", "image_url, which is missing"),
            ({"image_url": "HTTP://x/r"}, "image_sha256", "missing: image_url is http"),
            ({"htpasswd_path": "bad.htpasswd"}, "htpasswd_path", "line 1"),
            *(
                ({"htpasswd_path": f"{number}.htpasswd"}, "htpasswd_path", "line 1")
                for number in range(4)
            ),
            *(
                ({"image_url": url}, "image_url", "must be a URL")
                for url in ("http://[v1.example.com]", "http://h/%zz", "http://h/%")
            ),
            ({"image_url": "http://h:080/"}, "image_url", "the port of the URL must be"),
            ({"port_no": "05000"}, "port_no", "1 to 65535"),
            ({"proxy": {"no_proxy": "a b"}}, "proxy.no_proxy", "'a b' is neither"),
            ({"proxy": {"http_proxy": "ftp://x"}}, "proxy.http_proxy", "must be a URL"),
            ({"proxy": {"http_proxy": "http://x:y z"}}, "proxy.http_proxy", "the port of the URL"),
            (
                {"proxy": {"http_proxy": "http://x", "no_proxy": "a b"}},
                "proxy.no_proxy",
                "'a b' is neither",
            ),
            ({"colour": 1}, "colour", "unknown parameter"),
            ({"proxy": {"http_proxy": "http://x", "ftp": "y"}}, "proxy.ftp", "unknown parameter"),
        ]
        for params, path, message in cases:
            with self.subTest(params):
                (error,) = self.errors(**params)
                self.assertTrue(error.startswith(f"{NAME}.{path}: "), error)
                self.assertIn(message, error)

    def test_all_errors_together(self) -> None:
        errors = self.errors(ssh_cp_name="CP2", port_no=-1, proxy={"http_proxy": 3}, extra=1)
        self.assertEqual(4, len(errors), errors)

    def test_image(self) -> None:
        docker_save(self.package / "Files" / "registry.tar", ["registry:2"])
        image = self.read(image_path="Files/registry.tar").image
        assert isinstance(image, ImageArchive)
        self.assertEqual("registry:2", image.reference)
        self.assertRegex(image.sha256, r"^[0-9a-f]{64}$")

    def test_a_broken_archive_is_an_error_with_its_path(self) -> None:
        docker_save(self.package / "whole.tar", ["a:1"])
        packed = gzip.compress((self.package / "whole.tar").read_bytes())
        for number in range(len(packed)):
            flipped = bytearray(packed)
            flipped[number] ^= 0x41
            for content in (packed[:number], bytes(flipped)):
                self.write("broken.tgz", content)
                with contextlib.suppress(ParameterError):
                    self.read(image_path="broken.tgz")

    def test_an_archive_that_is_cut_off_or_too_large(self) -> None:
        """What stands behind the manifest would be missed on the machine only."""
        path = self.package / "i.tar"
        docker_save(path, ["a:1"])
        with tarfile.open(path, "a") as archive:
            layer = tarfile.TarInfo("layer.tar")
            layer.size = 100_000
            archive.addfile(layer, io.BytesIO(bytes(layer.size)))
        self.assertIsNotNone(self.read(image_path="i.tar").image)
        whole = path.read_bytes()
        large = tarfile.TarInfo("large")
        large.size = 5 << 30
        for content in (whole[:50_000], large.tobuf() + whole):
            self.write("broken.tar", content)
            self.assertIn("is not a file made by", self.errors(image_path="broken.tar")[0])

    def test_an_archive_of_more_members_than_an_image_has(self) -> None:
        block = tarfile.TarInfo("a").tobuf(tarfile.GNU_FORMAT)
        with gzip.open(self.package / "i.tgz", "wb", 1) as file:
            file.write(block * 20_000)
        tracemalloc.start()
        error = self.errors(image_path="i.tgz")[0]
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        self.assertIn("image_path", error)
        self.assertLess(most, 20_000_000)

    def test_image_of_a_server(self) -> None:
        params = self.read(image_url="https://server/r.tar", image_sha256="AB" * 32)
        assert isinstance(params.image, RemoteImage)
        self.assertEqual("private-registry:abababababab", params.image.tag)

    def test_port_as_string(self) -> None:
        self.assertEqual(5001, self.read(port_no="5001").port)

    def test_a_certificate_of_a_version_that_nobody_knows(self) -> None:
        key, certificate = key_and_certificate()
        der = ssl.PEM_cert_to_DER_cert(certificate.decode())
        version = der.index(b"\xa0\x03\x02\x01\x02") + 4  # [0] INTEGER 2
        odd = ssl.DER_cert_to_PEM_cert(der[:version] + b"\x05" + der[version + 1:])
        self.write("tls.key", key)
        self.write("tls.crt", odd.encode())
        error = self.errors(tls_certificate_path="tls.crt", tls_key_path="tls.key")[0]
        self.assertIn("tls_certificate_path: is not a PEM certificate", error)

    def test_text_around_certificate_and_key(self) -> None:
        """The registry finds no certificate behind a byte order mark."""
        key, certificate = key_and_certificate()
        self.write("tls.key", b"Bag Attributes\n  friendlyName: M\xfcller\n" + key)
        self.write("tls.crt", b"\xef\xbb\xbf" + certificate)
        params = self.read(tls_certificate_path="tls.crt", tls_key_path="tls.key")
        contents = [file.content for file in containers(params)[0].config_files()]
        shown = [content.reveal() for content in contents if isinstance(content, Secret)]
        name = "Bag Attributes\n  friendlyName: Mller\n"
        self.assertEqual([certificate.decode(), name + key.decode()], shown)
        self.assertIn(shown[1], [secret.reveal() for secret in params.secrets()])

    def test_tls(self) -> None:
        key, certificate = key_and_certificate()
        other_key, _ = key_and_certificate()
        self.write("tls.key", key)
        self.write("tls.crt", certificate)
        self.write("other.key", other_key)
        self.assertIsNotNone(
            self.read(tls_certificate_path="tls.crt", tls_key_path="tls.key").tls
        )
        for params, message in (
            ({"tls_certificate_path": "tls.crt"}, "tls_key_path: missing beside"),
            ({"tls_key_path": "tls.key"}, "tls_certificate_path: missing beside"),
            (
                {"tls_certificate_path": "tls.crt", "tls_key_path": "other.key"},
                "tls_key_path: is not the key of",
            ),
            (
                {"tls_certificate_path": "tls.key", "tls_key_path": "tls.key"},
                "tls_certificate_path: is not a PEM certificate",
            ),
            (
                {"tls_certificate_path": "tls.crt", "tls_key_path": "tls.crt"},
                "tls_key_path: is not a PEM private key",
            ),
        ):
            with self.subTest(params):
                self.assertIn(message, self.errors(**params)[0])

    def test_files_of_another_encoding(self) -> None:
        self.write("htpasswd", "# Büro\n".encode("latin-1"))
        errors = self.errors(htpasswd_path="htpasswd")
        self.assertIn("htpasswd_path: is not text in UTF-8", errors[0])

    def test_secrets_are_not_shown(self) -> None:
        proxy = {"http_proxy": "http://me:hidden@proxy:3128"}
        shown = repr(self.read(ssh_password="hidden too", proxy=proxy))
        self.assertNotIn("hidden", shown)

    def test_htpasswd(self) -> None:
        self.write("htpasswd", "# users\nme:$2y$05$" + "a" * 53 + "\n")
        self.assertIsNotNone(self.read(htpasswd_path="htpasswd").htpasswd)
