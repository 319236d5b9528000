import zipfile
from pathlib import Path
from typing import NamedTuple

from tools.csar import build, contents, drivers, toscameta, verify
from tools.csar.tests.sample import PackageTest

DF = "Definitions/private_registry_df_simple.yaml"
TOP = "Definitions/private_registry_top.vnfd.yaml"
TYPES = "Definitions/private_registry_types.yaml"
HOT = "BaseHOT/simple/private_registry.yaml"
USER_DATA = "UserData/private_registry_user_data.py"
NODES = f"{DF}: topology_template.node_templates"
ADDRESSES = f"{HOT}: resources.CP1.get_param ['nfv', 'CP', 'CP1',"
ZONE = (
    f"{HOT}: resources.PrivateRegistryVDU.get_param "
    "['nfv', 'zones', 'PrivateRegistryVDU', 'zone']"
)
POLICIES = f"{DF}: topology_template.policies"

SCALING = """
  policies:
    - aspects:
        type: tosca.policies.nfv.ScalingAspects
        properties:
          aspects: { registry: { max_scale_level: 1, step_deltas: [ step ] } }
    - deltas:
        type: tosca.policies.nfv.VduScalingAspectDeltas
        properties: { aspect: registry, deltas: { step: { number_of_instances: 1 } } }
        targets: [ PrivateRegistryVDU ]
    - levels:
        type: tosca.policies.nfv.InstantiationLevels
        properties:
          levels: { small: { scale_info: { registry: { scale_level: 0 } } } }
          default_level: small
    - vdu_levels:
        type: tosca.policies.nfv.VduInstantiationLevels
        properties: { levels: { small: { number_of_instances: 1 } } }
        targets: [ PrivateRegistryVDU ]
"""


class Break(NamedTuple):
    """Replace ``old`` in ``file`` by ``new`` and expect a fault that starts with ``fault``."""

    file: str
    old: str
    new: str
    fault: str


BREAKS = [
    Break(HOT, "resources:", "---\nresources:", f"{HOT}: not a single YAML document"),
    Break(TOP, "imports:", "imports: [", f"{TOP}: not a single YAML document"),
    Break(TOP, "private_registry_types.yaml", "x.yaml", f"{TOP}: imports: no file Definitions/x"),
    Break(TOP, "  - private_registry_df_simple.yaml\n", "", f"{TOP}: imports: {DF} is missing"),
    Break(TYPES, "valid_values: [ simple ]", "valid_values: [ big ]", f"{TYPES}: node_types."),
    Break(TYPES, "occurrences: [ 0, UNBOUNDED ]", "", f"{TYPES}: node_types.mgmtdrivers"),
    Break(DF, "flavour_id: simple", "flavour_id: big", "BaseHOT/big: holds 0 templates"),
    Break(DF, "flavour_id: simple", "flavour_id:", "Definitions: no file has substitution_map"),
    Break(DF, "[ CP1, virtual_link ]", "[ CP9 ]", f"{DF}: topology_template.substitution_mapp"),
    Break(DF, "    descriptor_id:", "    x:", f"{DF}: topology_template.inputs.descriptor_id"),
    Break(DF, "virtual_binding: P", "virtual_binding: X", f"{NODES}.CP1.requirements.virtual_b"),
    Break(DF, "- virtual_link:", "- virtual_link: VL", f"{NODES}.CP1.requirements.virtual_link"),
    Break(DF, "- virtual_link:", "", f"{NODES}.CP1.requirements.virtual_link: missing"),
    Break(DF, "instantiate_end:", "instantiate_done:", f"{NODES}.VNF.interfaces.Vnflcm.instant"),
    Break(DF, "\n        mgmt-drivers", "\n        x", f"{NODES}.VNF.interfaces.Vnflcm.heal_end"),
    Break(DF, "\n        mgmt-drivers", "\n        x", f"{NODES}.VNF.artifacts.x-private-regist"),
    Break(DF, "file: Scripts", "path: Scripts", f"{NODES}.VNF.artifacts.mgmt-drivers-private"),
    Break(DF, "name: node-debian-13", "", f"{NODES}.PrivateRegistryVDU.properties.sw_image_da"),
    Break(DF, "name: node-debian-13", "", f"{HOT}: resources.PrivateRegistryVDU.get_param"),
    Break(
        DF,
        "      capabilities:",
        "      artifacts: { sw_image: { type: tosca.artifacts.nfv.SwImage, file: x } }\n"
        "      capabilities:",
        f"{NODES}.PrivateRegistryVDU.artifacts.sw_image",
    ),
    Break(DF, "    CP1:\n", "    CP2:\n", f"{HOT}: resources.CP2: no OS::Neutron::Port"),
    Break(DF, "    CP1:\n", "    CP2:\n", f"{HOT}: resources.CP1: no tosca.nodes.nfv.VduCp"),
    Break(HOT, "  PrivateRegistryVDU:", "  VM:", f"{HOT}: resources.PrivateRegistryVDU: no OS::"),
    Break(HOT, "  PrivateRegistryVDU:", "  VM:", f"{HOT}: resources.VM: no tosca.nodes.nfv.Vdu"),
    Break(HOT, "CP1, network ]", "CP1, net ]", f"{HOT}: resources.CP1.get_param ['nfv', 'CP', "),
    Break(HOT, "CP, CP1, net", "CP, CP2, net", f"{HOT}: resources.CP1.get_param ['nfv', 'CP', "),
    Break(USER_DATA, '"fixed_ips": ', '"ips": ', f"{ADDRESSES} 'fixed_ips']: no UserData provides"),
    Break(HOT, "CP1, fixed_ips ]", "CP1, fixed_ips, 0 ]", f"{ADDRESSES} 'fixed_ips', 0]: is not"),
    Break(USER_DATA, '["zones"]', '["areas"]', f"{ZONE}: no UserData provides zones"),
    Break(USER_DATA, '["zone"]', '["area"]', f"{ZONE}: no UserData provides zone"),
    Break(USER_DATA, "@staticmethod", "", f"{USER_DATA}: PrivateRegistryUserData.instantiate"),
    Break(USER_DATA, "vnfd_dict: dict", "vnfd: dict", f"{USER_DATA}: PrivateRegistryUserData."),
    Break(USER_DATA, "def instantiate", "def start", f"{USER_DATA}: no class with a method"),
    Break(USER_DATA, "class ", "class (", f"{USER_DATA}: not valid Python"),
    Break(toscameta.NAME, "Entry-", "Exit-", f"{toscameta.NAME}: Entry-Definitions: missing"),
    Break(toscameta.NAME, "top.vnfd", "x", f"{toscameta.NAME}: Entry-Definitions: no file Defin"),
]

SCALING_BREAKS = [
    Break(DF, "targets: [ PrivateRegistryVDU ]", "targets: [ CP1 ]", f"{POLICIES}.deltas.targets"),
    Break(DF, "aspect: registry", "aspect: x", f"{POLICIES}.deltas.properties.aspect: no scaling"),
    Break(DF, "deltas: { step:", "deltas: { x:", f"{POLICIES}.deltas.properties.deltas: registry"),
    Break(DF, "default_level: small", "default_level: x", f"{POLICIES}.levels.properties.default"),
    Break(DF, "levels: { small: { scale_info", "levels: { small: { x", f"{POLICIES}.Instantiation"),
    Break(DF, "scale_info: { registry", "scale_info: { x", f"{POLICIES}.InstantiationLevels.leve"),
    Break(DF, "levels: { small: { number", "levels: { x: { number", f"{POLICIES}.vdu_levels.prop"),
]


class VerifyTest(PackageTest):
    def faults(self) -> list[str]:
        return [
            str(fault)
            for fault in verify.faults(build.assemble(self.folder), drivers.registered())
        ]

    def change(self, break_: Break) -> str:
        """Break the package, and return the file as it was."""
        path = self.folder / break_.file
        original = path.read_text()
        self.assertIn(break_.old, original)
        path.write_text(original.replace(break_.old, break_.new))
        return original

    def check(self, breaks: list[Break]) -> None:
        for break_ in breaks:
            with self.subTest(break_.fault):
                original = self.change(break_)
                found = self.faults()
                (self.folder / break_.file).write_text(original)
                matching = [fault for fault in found if fault.startswith(break_.fault)]
                self.assertTrue(matching, found)

    def test_the_package_has_no_faults(self) -> None:
        self.assertEqual(self.faults(), [])

    def test_each_break_is_found(self) -> None:
        self.check(BREAKS)

    def test_each_break_of_a_scaling_flavour_is_found(self) -> None:
        path = self.folder / DF
        path.write_text(path.read_text() + SCALING)
        self.assertEqual(self.faults(), [])
        self.check(SCALING_BREAKS)

    def test_all_faults_are_reported_together(self) -> None:
        together = [break_ for break_ in BREAKS if break_.old in ("@staticmethod", "Entry-")]
        together.append(next(break_ for break_ in BREAKS if "virtual_binding" in break_.old))
        for break_ in together:
            self.change(break_)
        found = self.faults()
        for break_ in together:
            self.assertTrue(any(fault.startswith(break_.fault) for fault in found), break_.fault)

    def test_a_volume_that_a_heal_cannot_keep_is_a_warning(self) -> None:
        """A server may boot from a volume, which only its mapping can say."""
        before, properties, after = (self.folder / HOT).read_text().partition("    properties:\n")
        place = "resources.PrivateRegistryVDU.block_device_mapping_v2"
        for attached, is_warned in (
            ("{ device_name: vdb, volume_id: v, boot_index: -1 }", True),
            ("{ device_name: vdb, volume_id: { get_resource: v } }", True),
            ("{ device_name: vda, volume_id: v, boot_index: 0 }", False),
            ("{ device_name: vdb, swap_size: 1, boot_index: -1 }", False),
        ):
            mapping = f"      block_device_mapping_v2: [ {attached} ]\n"
            (self.folder / HOT).write_text(before + properties + mapping + after)
            faults = verify.faults(build.assemble(self.folder), drivers.registered())
            found = [fault for fault in faults if fault.place == place]
            with self.subTest(attached):
                told = [(fault.file, fault.is_harmless) for fault in found]
                self.assertEqual([(HOT, True)] * is_warned, told)
                self.assertEqual(is_warned, "OS::Cinder::VolumeAttachment" in str(found))

    def test_a_yaml_file_that_is_no_mapping_is_found_where_tacker_reads_it(self) -> None:
        for name in ("Scripts/list.yaml", "Scripts/deeper/list.yaml"):
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("- item\n")
        (fault,) = self.faults()
        self.assertTrue(fault.startswith("Scripts/list.yaml: not a mapping"), fault)

    def test_a_nested_template_counts(self) -> None:
        top = self.folder / HOT
        nested = self.folder / "BaseHOT/simple/nested/vm.yaml"
        nested.parent.mkdir()
        nested.write_text(top.read_text())
        top.write_text("heat_template_version: 2013-05-23\nresources: {}\n")
        self.assertEqual(self.faults(), [])

    def test_who_fills_fixed_ips(self) -> None:
        """Tacker's class for v2 fills them in one by one, and ends in an error with a list."""
        v2 = "from tacker.sol_refactored.infra_drivers.openstack.userdata_standard import *\n"
        by_tacker = "def f():\n    utils.create_final_param_dict, utils.create_network_dict\n"
        none = "def f():\n    utils.create_final_param_dict\n"
        hot, user_data = self.folder / HOT, self.folder / USER_DATA
        one_list = "fixed_ips: { get_param: [ nfv, CP, CP1, fixed_ips ] }"
        one = "{ get_param: [ nfv, CP, CP1, fixed_ips, 0, ip_address ] }"
        one_by_one = f"fixed_ips: [ {{ ip_address: {one} }} ]"
        template = hot.read_text()
        for text, taken, is_filled in (
            (v2, one_list, False), (v2, one_by_one, True), (by_tacker, one_list, True),
            (by_tacker, one_by_one, True), (none, one_list, False), (none, one_by_one, False),
        ):
            with self.subTest(text, taken=taken):
                user_data.write_text(text)
                hot.write_text(template.replace(one_list, taken))
                found = [fault for fault in self.faults() if fault.startswith(ADDRESSES)]
                self.assertEqual(is_filled, not found, found)
                self.assertTrue(all("no UserData provides fixed_ips" in f for f in found), found)

    def test_a_driver_that_is_not_registered_is_found(self) -> None:
        found = verify.faults(build.assemble(self.folder), {})
        self.assertIn("no such driver is installed", str(found[0]))


class CsarTest(PackageTest):
    def faults_after(self, changes: dict[str, bytes | None]) -> list[str]:
        """Rebuild the CSAR with files changed, added or (None) left out."""
        original = build.build(self.folder, self.scratch / "a.zip")
        changed = self.scratch / "b.zip"
        with zipfile.ZipFile(original) as source, zipfile.ZipFile(changed, "w") as target:
            files: dict[str, bytes | None] = {name: source.read(name) for name in source.namelist()}
            for name, content in (files | changes).items():
                if content is not None:
                    target.writestr(name, content)
        return self.faults(changed)

    def faults(self, csar: Path) -> list[str]:
        with contents.of_csar(csar) as files:
            return [*map(str, verify.faults(files, drivers.registered(), is_built=True))]

    def test_a_built_csar_has_no_faults(self) -> None:
        self.assertEqual(self.faults_after({}), [])

    def test_blocks_and_files_agree(self) -> None:
        driver = "Scripts/private_registry_mgmt.py"
        cases: dict[str, dict[str, bytes | None]] = {
            f"{toscameta.NAME}: Files/x: has no block": {"Files/x": b"x"},
            f"{toscameta.NAME}: {USER_DATA}: has a block but no file": {USER_DATA: None},
            f"{toscameta.NAME}: {driver}: Hash is not that of the file": {driver: b"changed"},
            f"{NODES}.VNF.artifacts.mgmt-drivers-private-registry: {driver} differs from": {
                driver: b"changed"
            },
        }
        for expected, changes in cases.items():
            with self.subTest(expected):
                found = self.faults_after(changes)
                self.assertTrue(any(fault.startswith(expected) for fault in found), found)
