"""Commands for virt-customize."""

import contextlib
import io
import unittest
from pathlib import Path

import yaml

from tools.cloud_image.recipe import Login, commands
from tools.k8s_vnf.app import main


def _written(text: str, path: str) -> str:
    (line,) = [line for line in text.splitlines() if line.startswith(f"write {path}")]
    return line.partition(":")[2]


class RecipeTest(unittest.TestCase):
    def test_password_login_outlives_the_first_boot(self) -> None:
        text = commands(Login("me", password_file=Path("/secret")), ())
        self.assertIn("\npassword me:file:/secret\n", text)
        config = yaml.safe_load(_written(text, "/etc/cloud/"))
        self.assertEqual({"name": "me", "lock_passwd": False},
                         config["system_info"]["default_user"])
        self.assertTrue(config["ssh_pwauth"])
        self.assertNotIn("ssh-inject", text)

    def test_key_login_allows_no_password(self) -> None:
        text = commands(Login("me", public_key_file=Path("/key.pub")), ("nfs-common", "curl"))
        self.assertIn("\nssh-inject me:file:/key.pub\n", text)
        self.assertTrue(text.endswith("\ninstall nfs-common,curl\n"))
        self.assertFalse(yaml.safe_load(_written(text, "/etc/cloud/"))["ssh_pwauth"])
        self.assertNotIn("password me", text)


class CommandLineTest(unittest.TestCase):
    def refusal(self, *argv: str) -> str:
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit):
            main(["image", "build", *argv])
        return errors.getvalue()

    def test_bad_arguments(self) -> None:
        here = __file__
        for argv, words in (
            (("nothing", "-o", "x", "--password-file", here), "'nothing': there is no such file"),
            ((here, "-o", "x"), "one of the arguments --password-file --public-key-file"),
            ((here, "-o", "x", "--password-file", here, "--user", "a b"), "is no user name"),
            ((here, "-o", "x", "--password-file", here, "--install", "$(x)"), "no name of a pack"),
        ):
            with self.subTest(argv):
                self.assertIn(words, self.refusal(*argv))
