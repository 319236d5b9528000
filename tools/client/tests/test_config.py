"""Which cloud is meant."""

import os
import unittest
from unittest import mock

from tools.client.config import cloud
from tools.client.errors import ClientError


class CloudTest(unittest.TestCase):
    def test_without_a_cloud_the_way_to_one_is_named(self) -> None:
        nowhere = {"OS_CLIENT_CONFIG_FILE": "/none", "HOME": "/none", "PATH": os.environ["PATH"]}
        with (
            mock.patch.dict("os.environ", nowhere, clear=True),
            self.assertRaisesRegex(ClientError, "no cloud is chosen by OS_CLOUD or OS_.* openrc"),
        ):
            cloud()
