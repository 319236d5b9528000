"""Pools of workers in packages: their overlays, and faults of a second pool."""

import unittest

from tools.csar import build, check_kubernetes, drivers, verify
from tools.csar.contents import InMemory
from tools.csar.package import Package

_DF, _TOP = "Definitions/kubernetes_df_simple.yaml", "BaseHOT/simple/simple_hot_top.yaml"


class PoolsTest(unittest.TestCase):
    def contents(self, name: str, *overlays: str) -> build.Contents:
        folders = [build.OVERLAYS / overlay for overlay in overlays]
        return build.assemble(build.PACKAGES / name, overlays=folders)

    def test_the_overlays_have_no_faults(self) -> None:
        for name, *overlays in (
            ("kubernetes", "pools"), ("kubernetes", "storage", "pools"),
            ("kubernetes_v2", "pools_v2"), ("kubernetes_v2", "pools_v2", "storage_v2"),
        ):
            contents = self.contents(name, *overlays)
            self.assertEqual([], verify.faults(contents, drivers.registered()))
            for flavour in Package(contents).flavours:
                has_pool = "workerNode2" in flavour.nodes
                self.assertEqual(flavour.id != "podaffinity", has_pool, flavour.id)

    def test_faults_of_a_pool(self) -> None:
        contents = self.contents("kubernetes", "pools")
        for file, old, new, words in (
            (_DF, "aspect: worker2_instance", "aspect: worker_instance",
             "aspects.worker_instance: scales workerNode and workerNode2: each VDU needs"),
            (_TOP, "  worker2_instance:\n", "  group2:\n",
             "resources.worker2_instance: no OS::Heat::AutoScalingGroup for the VNFD's scaling"),
            (_DF, "- virtual_binding: workerNode2", "- virtual_binding: workerNode3",
             "workerNode3"),
        ):
            text = contents[file].read_bytes().decode()
            self.assertIn(old, text)
            broken = {**contents, file: InMemory(file, text.replace(old, new).encode())}
            faults = [str(fault) for fault in verify.faults(broken, drivers.registered())]
            self.assertTrue(any(words in fault for fault in faults), faults)

    def test_the_v2_api_needs_no_groups(self) -> None:
        package = Package(self.contents("kubernetes_v2", "pools_v2"))
        self.assertEqual([], list(check_kubernetes.pools(package)))
