import yaml

from tools.csar import build, contents, overlay
from tools.csar.errors import CsarError
from tools.csar.tests.sample import PackageTest

VNFD = "Definitions/private_registry_df_simple.yaml"


class OverlayTest(PackageTest):
    def test_merge(self) -> None:
        base = {"a": {"x": 1, "y": [1]}, "b": "old", "c": 3}
        more = {"a": {"y": [2], "z": 3}, "b": "new"}
        merged = {"a": {"x": 1, "y": [1, 2], "z": 3}, "b": "new", "c": 3}
        self.assertEqual(merged, overlay.merge(base, more))
        self.assertEqual([1], base["a"]["y"])  # type: ignore[index]

    def test_named_mappings_in_lists_are_merged(self) -> None:
        base = [{"link": "a"}, {"one": {"x": 1}}, {"two": {"y": [1]}}]
        more = [{"link": "b"}, {"two": {"y": [2]}}, {"three": {}}]
        merged = [{"link": "a"}, {"one": {"x": 1}}, {"two": {"y": [1, 2]}}, {"link": "b"},
                  {"three": {}}]
        self.assertEqual(merged, overlay.merge(base, more))

    def test_yaml_is_merged_and_files_are_added(self) -> None:
        more = self.scratch / "more"
        (more / "Definitions").mkdir(parents=True)
        (more / VNFD).write_text("topology_template: {node_templates: {VNF: {metadata: {x: y}}}}")
        (more / "README").write_text("new")
        assembled = build.assemble(self.folder, overlays=[more])
        node = yaml.safe_load(assembled[VNFD].read_bytes())["topology_template"]["node_templates"]
        self.assertEqual({"x": "y"}, node["VNF"]["metadata"])
        self.assertIn("properties", node["VNF"])
        self.assertEqual(b"new", assembled["README"].read_bytes())
        build.build(self.folder, self.scratch / "a.zip", overlays=[more])

    def test_what_is_no_yaml_is_named(self) -> None:
        more = self.scratch / "more"
        (more / "Definitions").mkdir(parents=True)
        (more / VNFD).write_text("a: [")
        with self.assertRaisesRegex(CsarError, f"{VNFD}: line .: not YAML"):
            build.assemble(self.folder, overlays=[more])
        (self.folder / overlay.VARIANT).write_text("without: [README]")
        with self.assertRaisesRegex(CsarError, "must name a package's folder as base"):
            build.assemble(self.folder)

    def test_the_base_lies_in_the_checkout(self) -> None:
        for base in ("..", "/etc", str(contents.CHECKOUT / ".git")):
            (self.folder / overlay.VARIANT).write_text(f"base: {base}")
            with self.assertRaisesRegex(CsarError, f"variant.yaml: base {base} does not lie in"):
                build.assemble(self.folder)

    def test_only_yaml_can_be_merged(self) -> None:
        more = self.scratch / "more"
        (more / "TOSCA-Metadata").mkdir(parents=True)
        (more / "TOSCA-Metadata/TOSCA.meta").write_text("new")
        with self.assertRaisesRegex(CsarError, "has TOSCA-Metadata/TOSCA.meta already"):
            build.assemble(self.folder, overlays=[more])
