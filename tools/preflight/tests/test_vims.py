"""The file that registers the cloud as a VIM."""

import tempfile
import unittest
from pathlib import Path
from typing import Any

import yaml

from tools.preflight import vims
from tools.preflight.tests.clouds import thing


class WriteConfigTest(unittest.TestCase):
    def test_it_has_the_login_of_the_environment_and_is_private(self) -> None:
        auth = {
            "auth_url": "http://cloud/identity", "username": "nfv_user", "password": "s3cret",
            "project_name": "nfv", "user_domain_name": "users",
        }
        config = thing(
            get_auth_args=lambda: auth, get_requests_verify_args=lambda: (True, None)
        )
        cloud: Any = thing(config=config)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "build", "vim.yaml")
            for _ in range(2):  # an older file may be there
                vims.write_config(cloud, path)
            self.assertEqual(0o600, path.stat().st_mode & 0o777)
            written = yaml.safe_load(path.read_text())
        expected = {**auth, "project_domain_name": "Default", "cert_verify": "True"}
        self.assertEqual(expected, written)
