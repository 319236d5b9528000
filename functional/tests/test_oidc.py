"""The issuer of OpenID Connect: its tokens, and the apiservers' file that names it."""

import base64
import json
import unittest
from pathlib import Path
from unittest import mock

import yaml
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from functional import oidc, pools_scenario
from mgmt_drivers.cluster.hardening import hardening


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class IssuerTest(unittest.TestCase):
    def setUp(self) -> None:
        self.machine = mock.Mock(address="192.0.2.7")
        self.issuer = oidc.start_issuer(self.machine)

    def served_key(self) -> rsa.RSAPublicKey:
        """The public key in what the machine serves."""
        (commands,) = self.machine.run.call_args.args
        text = commands.partition('{"keys": [')[2].partition("]}")[0]
        numbers = {part: int.from_bytes(decoded(json.loads(text)[part]), "big") for part in "ne"}
        return rsa.RSAPublicNumbers(numbers["e"], numbers["n"]).public_key()

    def test_tokens_are_signed_by_the_key_that_is_served(self) -> None:
        verify = self.served_key().verify
        how = padding.PKCS1v15(), hashes.SHA256()
        head, claims, made = self.issuer.token("jane", "developers").split(".")
        verify(decoded(made), f"{head}.{claims}".encode(), *how)
        read = json.loads(decoded(claims))
        self.assertEqual(("https://192.0.2.7:8443", "jane"), (read["iss"], read["sub"]))
        head, claims, made = self.issuer.token("jane", key=oidc.make_key()).split(".")
        with self.assertRaises(InvalidSignature):
            verify(decoded(made), f"{head}.{claims}".encode(), *how)

    def test_the_file_of_the_guide_gets_the_issuer(self) -> None:
        path = Path(pools_scenario._OVERLAY, pools_scenario._AUTHENTICATION)
        written = yaml.safe_load(path.read_text())
        (rule,) = self.issuer.configured(written)["jwt"]
        self.assertEqual(self.issuer.url, rule["issuer"]["url"])
        self.assertIn("BEGIN CERTIFICATE", rule["issuer"]["certificateAuthority"])
        self.assertEqual([oidc.AUDIENCE], rule["issuer"]["audiences"])
        own = yaml.safe_load(Path(hardening.__file__).with_name("authentication.yaml").read_text())
        self.assertEqual(own["anonymous"], written["anonymous"])
