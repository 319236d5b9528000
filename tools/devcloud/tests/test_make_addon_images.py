"""The images of pod network and add-ons that the registries of scenarios are given."""

import unittest
from pathlib import Path

from mgmt_drivers.cluster.addons import manifests
from mgmt_drivers.cluster.cluster_params import DEFAULT_CNI_MANIFEST
from tools.client.packages import CHECKOUT, SOURCES
from tools.devcloud.kubernetes import make_addon_images, make_images

_ADDONS = CHECKOUT / "functional/overlays/addons/Files/kubernetes/addons"


def _images(*paths: Path) -> set[str]:
    return {i for path in paths for i in manifests.images_in(path.read_text())}


class ImagesTest(unittest.TestCase):
    def test_each_mirror_has_all_that_the_package_names(self) -> None:
        wanted = _images(*(SOURCES / "kubernetes/Files").rglob("*.yaml"))
        flannel = _images(SOURCES / "kubernetes" / DEFAULT_CNI_MANIFEST)
        self.assertEqual(wanted, {make_images._POLICIES, *flannel})

    def test_the_registry_has_all_that_the_manifests_of_the_scenario_name(self) -> None:
        wanted = _images(*_ADDONS.glob("*.yaml"))
        self.assertTrue(wanted)
        has = {*make_addon_images._IMAGES, *_images(SOURCES / "kubernetes" / DEFAULT_CNI_MANIFEST)}
        self.assertEqual(set(), wanted - has)
