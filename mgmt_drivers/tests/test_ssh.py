"""Waiting, secrets and pinned host keys."""

import json
import pickle
import unittest
from urllib.parse import quote, quote_plus

import paramiko

from mgmt_drivers.clock import NotYet
from mgmt_drivers.errors import WaitTimeout, WrongHostKey
from mgmt_drivers.machine import syntax
from mgmt_drivers.secret import Masker, Secret
from mgmt_drivers.ssh.hostkeys import HostKeys
from mgmt_drivers.testing.fakes import FakeClock


class WaitTest(unittest.TestCase):
    def test_returns_the_value_once_the_condition_holds(self) -> None:
        looks = iter(["starting", "ready"])

        def condition() -> str:
            seen = next(looks)
            if seen != "ready":
                raise NotYet(seen)
            return seen

        self.assertEqual("ready", FakeClock().until(condition, 10, "it"))

    def test_limit_tells_what_was_seen_last(self) -> None:
        def condition() -> None:
            raise NotYet("port closed")

        with self.assertRaisesRegex(WaitTimeout, "the server: not within 0 s.*port closed"):
            FakeClock().until(condition, 0, "the server")

    def test_other_errors_end_the_wait(self) -> None:
        def condition() -> None:
            raise ValueError("broken")

        with self.assertRaises(ValueError):
            FakeClock().until(condition, 60, "it")


class SecretTest(unittest.TestCase):
    def test_prints_as_asterisks_and_is_not_pickled(self) -> None:
        secret = Secret("pa$$ word")
        self.assertEqual("*** Secret(***)", f"{secret} {secret!r}")
        with self.assertRaises(TypeError):
            pickle.dumps(secret)

    def test_masker_takes_the_longest_first(self) -> None:
        mask = Masker([Secret("abc"), Secret("abcdef"), Secret("")])
        self.assertEqual("*** and ***", mask("abcdef and abc"))

    def test_masker_knows_secrets_as_files_of_variables_write_them(self) -> None:
        text = "pa$s`w\\or\"d"
        self.assertEqual('X="***"\n', Masker([Secret(text)])(syntax.variable("X", text)))

    def test_masker_knows_secrets_as_json_and_urls_write_them(self) -> None:
        text = 'a "d"/é\\'
        mask = Masker([Secret(text)])
        for written in (
            json.dumps({"a": text}), json.dumps({"a": text}, ensure_ascii=False),
            f"http://me:{quote(text, safe='')}@proxy", f"http://mirror/{quote(text)}/x",
            quote_plus(text),
        ):
            self.assertRegex(mask(written), r"^[^d]*[*]{3}[^d]*$")
        self.assertEqual("a /d", mask("a /d"))
        self.assertEqual('\\" and \\', Masker([Secret("x")])('\\" and \\'))


class HostKeysTest(unittest.TestCase):
    def setUp(self) -> None:
        self.key, self.other = paramiko.ECDSAKey.generate(), paramiko.ECDSAKey.generate()

    def test_the_first_login_pins(self) -> None:
        keys = HostKeys()
        keys.check("server-1", "192.0.2.1", self.other)
        self.assertIsNone(keys.type_of("server-1"))  # no login yet
        keys.pin("server-1", self.key)
        keys.pin("server-1", self.other)
        keys.check("server-1", "192.0.2.1", self.key)
        self.assertEqual("ecdsa-sha2-nistp256", keys.type_of("server-1"))
        again = HostKeys(keys.as_dict())
        with self.assertRaisesRegex(WrongHostKey, "192.0.2.1 .* server-1 was not replaced"):
            again.check("server-1", "192.0.2.1", self.other)

    def test_a_key_that_somebody_has_changed(self) -> None:
        """Files on other machines get the kept keys, each as a line."""
        line = f"{self.key.get_name()} {self.key.get_base64()}"
        for text in (f"{line}\n{line}", f"{line} x", f'command="x" {line}', "", None, [line]):
            with self.subTest(text), self.assertRaisesRegex(WrongHostKey, "server server-1 in"):
                HostKeys({"server-1": text})  # type: ignore[dict-item] # of the metadata
        self.assertEqual({"server-1": line}, HostKeys({"server-1": line}).as_dict())

    def test_a_replaced_server_has_another_key(self) -> None:
        keys = HostKeys()
        keys.pin("server-1", self.key)
        keys.check("server-2", "192.0.2.1", self.other)
        keys.pin("server-2", self.other)
        keys.keep_only({"server-2"})
        self.assertEqual({"server-2"}, set(keys.as_dict()))
