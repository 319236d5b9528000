"""The command line of the preflight checks."""

import os
import unittest
from contextlib import redirect_stderr
from io import StringIO
from unittest import mock

from tools.preflight import cli


class UnusableCloudTest(unittest.TestCase):
    def error(self, variables: dict[str, str]) -> str:
        with (
            mock.patch.dict(os.environ, variables, clear=True),
            mock.patch.object(cli, "cloud", side_effect=OSError("Not Found")),
            redirect_stderr(StringIO()) as printed,
        ):
            self.assertEqual(3, cli.main([]))
        return printed.getvalue()

    def test_the_error_names_the_cloud(self) -> None:
        url = {"OS_AUTH_URL": "http://192.0.2.1/identity"}
        self.assertIn("OS_AUTH_URL=http://192.0.2.1/identity cannot be used: Not", self.error(url))
        self.assertIn("the cloud of OS_CLOUD=lab cannot", self.error({"OS_CLOUD": "lab", **url}))
        self.assertIn("which are not set, cannot be used", self.error({}))
