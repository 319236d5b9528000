from tools.csar import build, contents, drivers, verify
from tools.csar.contents import Contents
from tools.csar.tests.sample import DRIVER, PackageTest

PACKAGES = build.PACKAGES.parent / "functional/tosca_packages"
IMAGE = "Files/images/node.img"
REGISTRY = "Definitions/private_registry_df_simple.yaml"
CLUSTER = "Definitions/kubernetes_df_simple.yaml"
_ASPECTS = """
  policies:
    - sizes:
        type: tosca.policies.nfv.ScalingAspects
        properties: { aspects: { a: { name: a, description: a, max_scale_level: 1 } } }
"""


class ToscaTest(PackageTest):
    """Packages with a VNFD alone, as the specifications have them."""

    def setUp(self) -> None:
        super().setUp()
        driver = self.driver
        self._replace(drivers, "registered", {DRIVER: driver, "mgmt-drivers-kubernetes": driver})

    def package(self, name: str) -> Contents:
        return build.assemble(PACKAGES / name, {IMAGE: self._write("node.img", "an image")})

    def faults(self, package: Contents, is_harmless: bool = False) -> list[str]:
        found = verify.faults(package, drivers.registered())
        return [str(fault) for fault in found if fault.is_harmless == is_harmless]

    def test_both_have_no_faults(self) -> None:
        for name in ("private_registry", "kubernetes"):
            package = self.package(name)
            self.assertFalse([n for n in package if n.startswith(("BaseHOT/", "UserData/"))])
            self.assertEqual(([], []), (self.faults(package), self.faults(package, True)), name)

    def test_the_registry_has_the_hooks_of_the_specification(self) -> None:
        vnfd = contents.parse(self.package("private_registry")[REGISTRY])
        vnf = vnfd["topology_template"]["node_templates"]["VNF"]
        hooks = {name for name, hook in vnf["interfaces"]["Vnflcm"].items() if hook}
        self.assertEqual({"instantiate_end", "heal_end"}, hooks)

    def test_build(self) -> None:
        files = {IMAGE: self._write("node.img", "an image")}
        csar = build.build(PACKAGES / "private_registry", self.scratch / "a.zip", files)
        with contents.of_csar(csar) as packed:
            self.assertIn(IMAGE, packed)
            self.assertEqual([], verify.faults(packed, drivers.registered(), is_built=True))

    def test_what_tacker_does_not_take(self) -> None:
        node = "topology_template.node_templates"
        for name, file, old, new, place in (
            ("private_registry", REGISTRY, "virtual_link: {}", "virtual_link:",
             f"{node}.CP1.requirements.virtual_link: empty"),
            ("private_registry", REGISTRY, "- virtual_link: {}", "",
             f"{node}.CP1.requirements.virtual_link: missing"),
            ("private_registry", REGISTRY, "tosca.artifacts.nfv.SwImage", "tosca.artifacts.File",
             f"{node}.PrivateRegistryVDU.artifacts: no image"),
            ("kubernetes", CLUSTER, "    masterNode_CP1:\n",
             "    vip_CP:\n      type: tosca.nodes.nfv.Cp\n    masterNode_CP1:\n",
             f"{node}.vip_CP: heat-translator knows no"),
        ):
            with self.subTest(place, new=new):
                package = self.changed(self.package(name), file, old, new)
                found = self.faults(package)
                self.assertTrue(found)
                for fault in found:
                    self.assertTrue(fault.startswith(f"{file}: {place}"), fault)

    def test_scaling_has_no_use(self) -> None:
        package = self.package("kubernetes")
        text = package[CLUSTER].read_bytes().decode() + _ASPECTS
        package[CLUSTER] = contents.InMemory(CLUSTER, text.encode())
        (warning,) = self.faults(package, is_harmless=True)
        self.assertTrue(warning.startswith(f"{CLUSTER}: topology_template.policies.sizes"), warning)

    def test_half_a_package_is_none(self) -> None:
        """UserData without a BaseHOT, and a VNFD for the v2 API, which makes no templates."""
        (self.folder / "BaseHOT/simple/private_registry.yaml").unlink()
        found = self.faults(build.assemble(self.folder))
        self.assertTrue(any("BaseHOT/simple: holds 0 templates" in fault for fault in found), found)
        script = "../Scripts/private_registry_v2.py"
        package = self.changed(
            self.package("private_registry"), REGISTRY, "Scripts/private_registry_mgmt.py", script
        )
        found = self.faults(package)
        self.assertTrue(any("BaseHOT/simple: holds 0 templates" in fault for fault in found), found)

    def changed(self, package: Contents, file: str, old: str, new: str) -> Contents:
        text = package[file].read_bytes().decode()
        self.assertIn(old, text)
        return {**package, file: contents.InMemory(file, text.replace(old, new).encode())}
