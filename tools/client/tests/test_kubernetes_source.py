"""Where Kubernetes comes from: a mirror, or the Kubernetes project."""

import os
import subprocess
import unittest
from unittest import mock

from mgmt_drivers.cluster.series import DEFAULT_VERSION
from tools.client import kubernetes_source
from tools.client.config import CONFIG
from tools.client.kubernetes_source import BEFORE, NEWEST, NEWEST_KEY

_MIRROR = {"FUNCTIONAL_KUBERNETES_MIRROR": "http://mirror"}


def environment(**variables: str) -> mock._patch_dict:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("FUNCTIONAL_")}
    return mock.patch.dict(os.environ, {**kept, **variables}, clear=True)


class SourceTest(unittest.TestCase):
    def test_a_mirror_has_packages_of_its_release(self) -> None:
        with environment(**_MIRROR, FUNCTIONAL_KUBERNETES_VERSION="1.20.2"):
            params = kubernetes_source.source_params("http://r:5000")
        self.assertEqual("1.20.2", params["kubernetes_version"])
        self.assertEqual("http://mirror/1.20/apt", params["package_repository"]["url"])

    def test_without_a_mirror_the_drivers_default_is_installed(self) -> None:
        with environment():
            params = kubernetes_source.source_params("http://r:5000")
        expected = {"kubernetes_version": str(DEFAULT_VERSION), "image_repository": "http://r:5000"}
        self.assertEqual(expected, params)

    def test_a_release_that_no_repository_has(self) -> None:
        for version, expected in (("1.20.2", "1.20.99"), ("1.33", "1.33.99")):
            with environment(FUNCTIONAL_KUBERNETES_VERSION=version):
                self.assertEqual(expected, kubernetes_source.missing_version())

    def test_an_upgrade_is_one_to_the_newest_series(self) -> None:
        with environment(**_MIRROR, FUNCTIONAL_KUBERNETES_VERSION=BEFORE):
            params = kubernetes_source.upgrade_params()
            self.assertEqual(BEFORE, CONFIG.kubernetes_version)
        key = {"url": f"http://mirror/{NEWEST}/apt", "key_path": NEWEST_KEY}
        self.assertEqual({"kubernetes_version": NEWEST, "package_repository": key}, params)

    def test_a_version_is_configured_within_a_block_alone(self) -> None:
        with environment():
            with self.assertRaises(KeyError), kubernetes_source.configured("1.20"):
                self.assertEqual("1.20", CONFIG.kubernetes_version)
                raise KeyError
            self.assertEqual(str(DEFAULT_VERSION), CONFIG.kubernetes_version)

    def test_commands_are_shell(self) -> None:
        for variables in (_MIRROR, {}):
            with environment(**variables):
                for command in (
                    kubernetes_source.push_command("r:5000"),
                    kubernetes_source.load_busybox_command(),
                ):
                    subprocess.run(["sh", "-n"], input=command, text=True, check=True)
                    self.assertNotIn("{{", command)

    def test_without_a_mirror_a_machine_pushes_published_images(self) -> None:
        sent: list[str] = []
        pusher = mock.Mock(run=sent.append)
        with (
            environment(FUNCTIONAL_KUBERNETES_VERSION="1.36"),
            mock.patch.object(kubernetes_source, "cloud"),
            mock.patch.object(kubernetes_source.stacks, "machines") as machines,
        ):
            machines.return_value.__enter__.return_value = (pusher,)
            kubernetes_source.push_images("r:5000")
        pusher.allow_plain_http.assert_called_once_with("r:5000")
        self.assertIn("release=v1.36\n", sent[0])
        self.assertIn(" registry.k8s.io/networking/kube-network-policies:v", sent[0])
