"""private_registry_connection_info: what is taken over, and every error with its path."""

import ssl
import tempfile
import unittest
from pathlib import Path
from typing import Any

from mgmt_drivers.cluster.registries.registries_params import REGISTRIES, Registry
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.params.reader import Context, Reader, ValidationErrors
from mgmt_drivers.secret import Secret
from mgmt_drivers.testing.made_certificates import signed

_LIST = "private_registry_connection_info"
_PLAIN = {"connection_type": "0", "server": "192.168.0.10:5000"}
_SECURE = {
    "connection_type": 1,
    "server": "registry.example.com",
    "username": "user01",
    "password": "p:01",
    "certificate_path": "ca.crt",
    "hosts_string": "192.168.0.20  registry.example.com",
}


class RegistriesTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.package = Path(folder.name)
        (self.package / "ca.crt").write_bytes(signed("x").ca)
        (self.package / "text").write_text("some text")
        ca = signed("x").ca.decode()
        for name, text in (
            ("two", ca + ca), ("broken", ca + ca.replace("MII", "MIX", 1)),
            ("cut off", ca + ca[: len(ca) // 2]), ("empty", ""),
        ):
            (self.package / name).write_text(text)

    def read(self, *entries: Any) -> tuple[tuple[Registry, ...], list[str]]:
        """The registries, and the errors without the path of the list."""
        errors = ValidationErrors()
        reader = Reader(list(entries), f"p.{_LIST}", errors, Context(self.package))
        found = REGISTRIES.parse(reader)
        return found, [error.removeprefix(f"p.{_LIST}") for error in errors.messages]

    def test_what_is_taken_over(self) -> None:
        (plain, secure), errors = self.read(_PLAIN, _SECURE)
        self.assertEqual([], errors)
        self.assertEqual(Registry("192.168.0.10:5000", plain_http=True), plain)
        self.assertEqual("https://registry.example.com", secure.url)
        assert secure.login and secure.certificate
        self.assertEqual("user01", secure.login.username)
        self.assertEqual("dXNlcjAxOnA6MDE=", secure.login.basic.reveal())
        self.assertEqual("192.168.0.20 registry.example.com", str(secure.host_entry))
        self.assertNotIn("p:01", repr(secure))

    def test_a_file_of_several_certificates(self) -> None:
        (found,), errors = self.read({**_SECURE, "certificate_path": "two"})
        self.assertEqual([], errors)
        self.assertEqual(2, (found.certificate or b"").count(b"BEGIN"))

    def test_the_text_around_certificates_is_left_out(self) -> None:
        ca = signed("x").ca
        for name, before, after in (
            ("comment", "# Müller GmbH, Főtanúsítvány\n".encode(), b"\n# more\n"),
            ("latin", "O = Müller\n".encode("latin-1"), b""), ("mark", b"\xef\xbb\xbf", b""),
            ("key", signed("x").key, b""),
        ):
            (self.package / name).write_bytes(before + ca + after)
            (found,), errors = self.read({**_SECURE, "certificate_path": name})
            self.assertEqual(([], ca), (errors, found.certificate), name)
        (self.package / "utf-16").write_bytes(ca.decode().encode("utf-16"))
        _, errors = self.read({**_SECURE, "certificate_path": "utf-16"})
        self.assertIn("[0].certificate_path: must hold one or more whole", errors[0])

    def test_docker_hub_has_several_names(self) -> None:
        for name in ("docker.io", "index.docker.io", "registry-1.docker.io", "Docker.IO"):
            (found,), errors = self.read({**_SECURE, "server": name})
            self.assertEqual([], errors)
            self.assertEqual(
                ("docker.io", "https://registry-1.docker.io", "https://index.docker.io/v1/"),
                (found.server, found.url, found.login_key),
            )
        hub = {"connection_type": 1, "server": "docker.io"}
        _, errors = self.read(hub, {**hub, "server": "index.docker.io"})
        self.assertIn("[0].server: docker.io is listed more than once", errors)
        _, errors = self.read({**hub, "connection_type": 0})
        self.assertEqual(["[0].connection_type: must be 1: Docker Hub speaks HTTPS"], errors)

    def test_a_flipped_byte_is_no_error_of_another_kind(self) -> None:
        der = ssl.PEM_cert_to_DER_cert(signed("x").ca.decode())
        for place in range(len(der)):
            flipped = der[:place] + bytes([der[place] ^ 7]) + der[place + 1:]
            (self.package / "flipped").write_text(ssl.DER_cert_to_PEM_cert(flipped))
            _, errors = self.read({**_SECURE, "certificate_path": "flipped"})
            for error in errors:
                self.assertIn("[0].certificate_path: must hold one or more whole", error)

    def test_none(self) -> None:
        self.assertEqual(((), []), self.read())
        errors = ValidationErrors()
        self.assertEqual((), REGISTRIES.parse(Reader({}, "p", errors)))
        self.assertIn("must be a list of objects", errors.messages[0])

    def test_one_error_each(self) -> None:
        cases: list[tuple[Any, str]] = [
            ("x", "[0]: must be an object"),
            ({**_PLAIN, "connection_type": "2"}, "[0].connection_type: must be 0 (HTTP) or 1"),
            ({**_PLAIN, "connection_type": True}, "[0].connection_type: must be a string"),
            ({"server": "x.y"}, "[0].connection_type: missing"),
            ({"connection_type": 1}, "[0].server: missing"),
            ({**_PLAIN, "server": "http://x"}, "[0].server: must be a host"),
            ({**_PLAIN, "server": "x:70000"}, "[0].server: must be a host"),
            ({**_PLAIN, "server": "x:0"}, "[0].server: must be a host"),
            ({**_PLAIN, "server": "registry"}, "[0].server: must have a dot or a port"),
            ({**_PLAIN, "server": "reg.x:05000"}, "[0].server: must be a host"),
            ({**_PLAIN, "server": "-x"}, "[0].server: must be a host"),
            ({**_PLAIN, "certificate_path": "ca.crt"}, "[0].certificate_path: is for HTTPS"),
            ({**_SECURE, "certificate_path": "text"}, "[0].certificate_path: must hold one or"),
            ({**_SECURE, "certificate_path": "no"}, "[0].certificate_path: the VNF package has no"),
            *(
                ({**_SECURE, "certificate_path": name}, "[0].certificate_path: must hold one")
                for name in ("broken", "cut off", "empty")
            ),
            ({**_PLAIN, "username": "me"}, "[0].password: missing"),
            ({**_PLAIN, "password": "me"}, "[0].username: missing"),
            ({**_SECURE, "username": "a:b"}, "[0].username: must not hold a colon"),
            ({**_SECURE, "hosts_string": "x.example.com"}, "[0].hosts_string: must be an address"),
            ({**_SECURE, "hosts_string": "10.0.0.2 localhost"}, "[0].hosts_string: localhost is"),
            *(
                ({**_SECURE, "hosts_string": f"10.0.0.2 {name}"}, f"[0].hosts_string: {name} is")
                for name in ("ip6-localhost", "IP6-loopback", "localhost4", "localhost6",
                             "ip6-allnodes", "localhost6.localdomain6", "a.localhost")
            ),
            *(
                ({**_SECURE, "hosts_string": f"{address} x.y"}, f"[0].hosts_string: {address} is")
                for address in ("0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255",
                                "127.0.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.9")
            ),
            ({**_SECURE, "hosts_string": "10.0.0.256 x"}, "[0].hosts_string: must be an address"),
            ({**_SECURE, "hosts_string": "10.0.0.25 x y"}, "[0].hosts_string: must be an address"),
            ({**_PLAIN, "colour": "blue"}, "[0].colour: unknown parameter"),
        ]
        for entry, error in cases:
            with self.subTest(error):
                _, errors = self.read(entry)
                self.assertEqual(1, len(errors), errors)
                self.assertTrue(errors[0].startswith(error), errors)

    def test_twice_the_same(self) -> None:
        _, errors = self.read(_SECURE, _PLAIN, {**_PLAIN, "server": "REGISTRY.example.com"})
        self.assertEqual(["[0].server", "[2].server"], [f.partition(":")[0] for f in errors])
        _, errors = self.read(_SECURE, {**_PLAIN, "hosts_string": "10.0.0.1 registry.example.com"})
        self.assertIn("[1].hosts_string: registry.example.com is given another", errors[0])


class ProxyTest(unittest.TestCase):
    def test_the_way_to_a_registry(self) -> None:
        http, https = Secret("http://a"), Secret("http://b")
        proxy = Proxy(http, https, ("10.0.0.0/8", "192.0.2.1", "example.com", ".lab", "*.org"))
        for host, direct in (
            ("10.1.2.3", True),
            ("11.1.2.3", False),
            ("192.0.2.1", True),
            ("192.0.2.11", False),
            ("example.com", True),
            ("registry.example.com", True),
            ("notexample.com", False),
            ("x.lab", True),
            ("x.org", True),
        ):
            way = proxy.way_to("https", host)
            self.assertEqual(None if direct else https, way, host)
        self.assertEqual(http, proxy.way_to("http", "elsewhere"))
