"""The manifests of the scenario of add-ons."""

import unittest
from pathlib import Path

from functional.full.test_addons import _ALL, _FOLDER, _OVERLAY
from mgmt_drivers.cluster.addons import manifests
from mgmt_drivers.cluster.cluster_params import DEFAULT_CNI_MANIFEST
from tools.client.packages import SOURCES
from tools.devcloud.kubernetes import make_addon_images


def _images(*paths: Path) -> set[str]:
    return {i for path in paths for i in manifests.images_in(manifests.parse(path.read_text()))}


class ManifestsTest(unittest.TestCase):
    def test_the_registry_of_the_scenario_has_their_images(self) -> None:
        wanted = _images(*(_OVERLAY / _FOLDER / f"{name}.yaml" for name in _ALL))
        has = {*make_addon_images._IMAGES, *_images(SOURCES / "kubernetes" / DEFAULT_CNI_MANIFEST)}
        self.assertEqual(set(), wanted - has)
