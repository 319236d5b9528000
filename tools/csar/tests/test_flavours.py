"""A flavour ``twin`` that is like the sample package's flavour ``simple``."""

import zipfile
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from tools.csar import build, contents, flavours, overlay
from tools.csar.contents import Contents
from tools.csar.errors import CsarError
from tools.csar.tests.sample import PackageTest

TYPES = "Definitions/private_registry_types.yaml"
TOP = "Definitions/private_registry_top.vnfd.yaml"
VNFD = "Definitions/private_registry_df_simple.yaml"
TWIN_VNFD = "Definitions/private_registry_df_twin.yaml"
HOT = "BaseHOT/simple/private_registry.yaml"
TWIN_HOT = "BaseHOT/twin/private_registry.yaml"


class FlavoursTest(PackageTest):
    def setUp(self) -> None:
        super().setUp()
        self.put(flavours.DECLARATION, "twin: simple")
        self.put("BaseHOT/simple/nested/simple_vm.yaml", "heat_template_version: 2013-05-23")
        self.edit(HOT, "OS::Nova::Server", "simple_vm.yaml")
        self.put(TWIN_HOT, "resources: {group: {type: OS::Nova::ServerGroup}}")

    def put(self, name: str, text: str, folder: Path | None = None) -> Path:
        path = (folder or self.folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.folder / name).read_text()
        self.assertIn(old, text)
        self.put(name, text.replace(old, new))

    def read(self, assembled: Contents, name: str) -> Any:
        return yaml.safe_load(assembled[name].read_bytes())

    def test_differences_are_laid_over_copies(self) -> None:
        assembled = build.assemble(self.folder)
        simple, twin = self.read(assembled, HOT), self.read(assembled, TWIN_HOT)
        self.assertEqual({"type": "OS::Nova::ServerGroup"}, twin["resources"].pop("group"))
        self.assertEqual("twin_vm.yaml", twin["resources"]["PrivateRegistryVDU"].pop("type"))
        self.assertEqual("simple_vm.yaml", simple["resources"]["PrivateRegistryVDU"].pop("type"))
        self.assertEqual(simple, twin)
        self.assertIn("BaseHOT/twin/nested/twin_vm.yaml", assembled)
        self.assertNotIn(flavours.DECLARATION, assembled)

    def test_the_vnfd_says_which_flavour_it_is(self) -> None:
        assembled = build.assemble(self.folder)
        simple, twin = self.read(assembled, VNFD), self.read(assembled, TWIN_VNFD)
        properties = twin["topology_template"]["substitution_mappings"]["properties"]
        self.assertEqual({"flavour_id": "twin"}, properties)
        properties["flavour_id"] = "simple"
        self.assertEqual(simple, twin)

    def test_what_is_no_yaml_is_copied(self) -> None:
        self.put("BaseHOT/simple/nested/simple.sh", "echo simple\n")
        assembled = build.assemble(self.folder)
        self.assertEqual(b"echo simple\n", assembled["BaseHOT/twin/nested/twin.sh"].read_bytes())

    def test_is_built(self) -> None:
        self.edit(HOT, "simple_vm.yaml", "OS::Nova::Server")
        self.edit(TYPES, "[ simple ]", "[ simple, twin ]")
        self.edit(TOP, "_df_simple.yaml", "_df_simple.yaml\n  - private_registry_df_twin.yaml")
        with zipfile.ZipFile(build.build(self.folder, self.scratch / "a.zip")) as archive:
            self.assertIn(TWIN_VNFD, archive.namelist())
            self.assertNotIn(flavours.DECLARATION, archive.namelist())

    def test_an_overlay_is_laid_over_one_flavour(self) -> None:
        more = self.scratch / "more"
        self.put(HOT, "resources: {volume: {type: OS::Cinder::Volume}}", more)
        self.put(TWIN_VNFD, "description: Laid over", more)
        assembled = build.assemble(self.folder, overlays=[more])
        self.assertIn("volume", self.read(assembled, HOT)["resources"])
        self.assertNotIn("volume", self.read(assembled, TWIN_HOT)["resources"])
        self.assertEqual("Laid over", self.read(assembled, TWIN_VNFD)["description"])
        self.assertNotEqual("Laid over", self.read(assembled, VNFD)["description"])

    def test_the_variant_of_a_package_changes_both(self) -> None:
        variant = self.scratch / "variant"
        self.put(overlay.VARIANT, f"base: ../package\nwithout: [{HOT}, {TWIN_HOT}]", variant)
        self.put("BaseHOT/simple/top.yaml", "resources: {new: {type: simple_vm.yaml}}", variant)
        self.put("BaseHOT/twin/top.yaml", "description: Its own", variant)
        with mock.patch.object(contents, "CHECKOUT", self.scratch):
            assembled = build.assemble(variant)
        expected = {"resources": {"new": {"type": "twin_vm.yaml"}}, "description": "Its own"}
        self.assertEqual(expected, self.read(assembled, "BaseHOT/twin/top.yaml"))
        self.assertNotIn(TWIN_HOT, assembled)
        self.assertIn(TWIN_VNFD, assembled)

    def test_a_faulty_declaration_says_what_to_do(self) -> None:
        for text, said in (
            ("", "must have lines 'flavour: the flavour that it is like'"),
            ("twin: {base: simple}", "must have lines"),
            ("twin: [", "not YAML"),
            ("twin: big", "like big, of which the package has no file: name a flavour"),
            ("{twin: simple, third: twin}", "third cannot be like twin, .* name a flavour"),
        ):
            with self.subTest(text):
                path = self.put(flavours.DECLARATION, text)
                with self.assertRaisesRegex(CsarError, f"{path}: .*{said}"):
                    build.assemble(self.folder)

    def test_a_name_without_the_flavour_cannot_be_copied(self) -> None:
        (self.folder / VNFD).rename(self.folder / "Definitions/df.yaml")
        with self.assertRaisesRegex(CsarError, "df.yaml: .* rename the file so that simple is in"):
            build.assemble(self.folder)
