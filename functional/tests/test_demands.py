"""The manifest of the scenario of demands, on the simulated cluster."""

import yaml

from functional.full import test_demands
from mgmt_drivers.cluster.cluster_params import DEFAULT_CNI_MANIFEST
from mgmt_drivers.testing.simulated_cloud import SimulatedClusterTest


class ManifestTest(SimulatedClusterTest):
    def test_the_object_comes_before_its_definition(self) -> None:
        self.build(is_clustered=False)
        text = test_demands.manifest("192.0.2.7:5000")
        (self.package / DEFAULT_CNI_MANIFEST).write_text(text)
        self.instantiate(self.services())
        self.assertIn("largething.example.com/example", self.world.objects)
        objects = [*yaml.safe_load_all(text)]
        self.assertEqual("LargeThing", objects[-2]["kind"])
        self.assertLess(256 << 10, len(text))
        containers = [
            container
            for thing in objects if thing["kind"] == "DaemonSet"
            for kind in ("initContainers", "containers")
            for container in thing["spec"]["template"]["spec"][kind]
        ]
        self.assertEqual(
            {"192.0.2.7:5000"}, {c["image"].rpartition("/")[0] for c in containers}
        )
