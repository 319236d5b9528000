"""Packages of the shape of Tacker's sample: what is wrong with them, and what is made of them."""

import contextlib
import io
import shutil
import zipfile
from pathlib import Path

import yaml

from tools.csar import (
    build,
    check_heat,
    contents,
    drivers,
    migrate,
    toscameta,
    verify,
)
from tools.csar.errors import CsarError
from tools.csar.package import Fault
from tools.csar.tests.sample import TYPES, PackageTest
from tools.csar.yaml_edit import Document
from tools.k8s_vnf.app import main

SHAPE = build.PACKAGES.parent / "functional/samples_package"
DRIVER = "mgmt-drivers-kubernetes"
SIMPLE = "Definitions/sample_kubernetes_df_simple.yaml"
COMPLEX = "Definitions/sample_kubernetes_df_complex.yaml"
TYPES_OF_SAMPLE = "Definitions/sample_kubernetes_types.yaml"
TOP = "BaseHOT/complex/complex_hot_top.yaml"
SCRIPT = "Scripts/install_k8s_cluster.sh"
IMAGE = "Files/images/node.img"
NODES = "topology_template.node_templates"


class SampleTest(PackageTest):
    """Gives each test such a package in ``folder``, with all that its authors put there."""

    def setUp(self) -> None:
        super().setUp()
        self._replace(drivers, "registered", {DRIVER: self.driver})
        shutil.rmtree(self.folder)
        shutil.copytree(SHAPE, self.folder)
        self.target = self.scratch / "migrated"
        (self.folder / IMAGE).parent.mkdir(parents=True)
        (self.folder / IMAGE).write_text("not an image\n\n")
        (self.folder / "Scripts/kubernetes_mgmt.py").write_text("class OfTheSample: ...\n")
        for name, text in TYPES.items():
            (self.folder / "Definitions" / name).write_text(f"# another edition\n{text}")

    def found(self, folder: Path) -> list[Fault]:
        return verify.faults(build.assemble(folder), drivers.registered())

    def faults(self, folder: Path) -> list[str]:
        return [str(fault) for fault in self.found(folder) if not fault.is_harmless]

    def warnings(self, folder: Path) -> list[str]:
        found = [fault for fault in self.found(folder) if fault.is_harmless]
        return sorted({f"{fault.place or fault.file}" for fault in found})

    def change(self, name: str, old: str, new: str) -> None:
        path = self.folder / name
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new))


class AsItIsTest(SampleTest):
    def test_what_is_harmless_is_a_warning(self) -> None:
        self.assertEqual(
            sorted([
                "Created-By", "Files/kubernetes/flannel.yaml",
                "node_types.operator.nodes.Cluster.properties.flavour_id.constraints",
                *(f"{NODES}.{vdu}.artifacts.sw_image" for vdu in ("masterNode", "workerNode")),
                f"{NODES}.VNF.interfaces.Vnflcm.instantiate_start",
                "resources.vip_CP",
                *(f"resources.{group}_instance.properties.desired_capacity"
                  for group in ("master", "worker")),
            ]),
            self.warnings(self.folder),
        )  # fmt: skip

    def test_what_is_not_is_a_fault(self) -> None:
        script, *links = sorted(self.faults(self.folder), reverse=True)
        optional = [link for link in links if "occurrences: [ 0, UNBOUNDED ]" in link]
        links.remove(*optional)
        self.assertTrue(script.startswith(f"{SCRIPT}: does not declare the drivers' contract"))
        self.assertEqual(4, len(links))
        self.assertTrue(all("requirements.virtual_link: missing" in link for link in links), links)

    def test_it_is_not_built_and_the_error_says_how(self) -> None:
        with self.assertRaisesRegex(CsarError, "k8s-vnf package migrate FOLDER"):
            build.build(self.folder, self.scratch / "a.zip")

    def test_an_image_that_is_not_there(self) -> None:
        (self.folder / IMAGE).unlink()
        found = [fault for fault in self.faults(self.folder) if "sw_image" in fault]
        self.assertEqual(4, len(found))
        self.assertIn(f"no file {IMAGE}", found[0])

    def test_a_flavour_that_the_type_does_not_allow(self) -> None:
        self.change("Definitions/sample_kubernetes_types.yaml", "simple, complex,", "simple,")
        (fault,) = [fault for fault in self.faults(self.folder) if "flavour_id" in fault]
        self.assertIn("allows ['podaffinity', 'simple'], the flavours are", fault)


class MigrateTest(SampleTest):
    def text(self, name: str) -> str:
        return (self.target / name).read_text()

    def test_it_has_no_faults_then(self) -> None:
        migrate.migrate(self.folder, self.target)
        self.assertEqual([], self.faults(self.target))
        self.assertEqual(
            [
                "node_types.operator.nodes.Cluster.properties.flavour_id.constraints",
                "resources.vip_CP",
                *(f"{NODES}.{vdu}.artifacts.sw_image" for vdu in ("masterNode", "workerNode")),
            ],
            self.warnings(self.target),
        )

    def test_it_is_built_with_the_installed_driver_and_one_block_for_each_file(self) -> None:
        migrate.migrate(self.folder, self.target)
        said: list[str] = []
        csar = build.build(self.target, self.scratch / "a.zip", say=said.append)
        self.assertEqual(6, len([line for line in said if line.startswith("warning: ")]), said)
        with zipfile.ZipFile(csar) as archive:
            driver = archive.read("Scripts/kubernetes_mgmt.py")
            header, blocks = toscameta.parse(archive.read(toscameta.NAME).decode())
        self.assertEqual(self.driver.read_bytes(), driver)
        self.assertEqual("An operator", header["Created-By"])
        names = [block["Name"] for block in blocks]
        self.assertEqual(sorted(set(names)), names)
        with contents.of_csar(csar) as files:
            found = verify.faults(files, drivers.registered(), is_built=True)
        self.assertEqual([], [str(fault) for fault in found if not fault.is_harmless])

    def test_everything_else_stays_as_its_author_wrote_it(self) -> None:
        self.change(COMPLEX, "    masterNode:\n", "    # The author's words.\n    masterNode:\n")
        before = {name: (self.folder / name).read_text() for name in (SIMPLE, COMPLEX, TOP)}
        migrate.migrate(self.folder, self.target)
        gone = {
            name: [line for line in text.splitlines() if line not in self.text(name).splitlines()]
            for name, text in before.items()
        }
        self.assertEqual(
            {
                SIMPLE: [], COMPLEX: [],
                TOP: ["      desired_capacity: 3", "      desired_capacity: 2",
                      "      network: net0"],
            },
            gone,
        )  # fmt: skip
        self.assertEqual(before[SIMPLE], (self.folder / SIMPLE).read_text())

    def test_hooks_sizes_and_networks(self) -> None:
        migrate.migrate(self.folder, self.target)
        nodes = yaml.safe_load(self.text(SIMPLE))["topology_template"]["node_templates"]
        hooks = nodes["VNF"]["interfaces"]["Vnflcm"]
        self.assertEqual({"implementation": DRIVER}, hooks["instantiate_start"])
        self.assertEqual({"implementation": DRIVER}, hooks["modify_information_end"])
        self.assertEqual(9, len(hooks))
        (cluster,) = yaml.safe_load(self.text(TYPES_OF_SAMPLE))["node_types"].values()
        (link,) = cluster["requirements"]
        self.assertEqual([0, "UNBOUNDED"], link["virtual_link_internal"]["occurrences"])
        template = yaml.safe_load(self.text(TOP))
        size = {"get_param": "worker_instance_desired_capacity"}
        group = template["resources"]["worker_instance"]["properties"]
        self.assertEqual(size, group["desired_capacity"])
        self.assertEqual(2, template["parameters"]["worker_instance_desired_capacity"]["default"])
        self.assertEqual(
            {"get_param": ["nfv", "CP", "masterNode_CP1", "network"]},
            template["resources"]["vip_CP"]["properties"]["network"],
        )

    def test_an_image_of_the_cloud(self) -> None:
        self.change(SIMPLE, "        sw_image:\n", "        other: { type: x, file: README }\n"
                                                  "        sw_image:\n")
        migrate.migrate(self.folder, self.target, "node-debian-13")
        for name in (SIMPLE, COMPLEX):
            nodes = yaml.safe_load(self.text(name))["topology_template"]["node_templates"]
            for vdu in ("masterNode", "workerNode"):
                image = nodes[vdu]["properties"]["sw_image_data"]["name"]
                self.assertEqual("node-debian-13", image)
                self.assertEqual(["other"] if name == SIMPLE else [],
                                 [*nodes[vdu].get("artifacts", {})])
                self.assertIn("capabilities", nodes[vdu])
        self.assertFalse((self.target / IMAGE).exists())
        self.assertEqual([], [w for w in self.warnings(self.target) if "sw_image" in w])

    def test_once_is_enough(self) -> None:
        migrate.migrate(self.folder, self.target, "node-debian-13")
        again = migrate.migrate(self.target, self.scratch / "again")
        self.assertEqual(([], []), (again.done, again.left))

    def test_what_cannot_be_done_is_left_to_the_author(self) -> None:
        self.change(SIMPLE, "      requirements:\n        - virtual_binding: workerNode",
                    "      requirements: [ { virtual_binding: workerNode } ]")
        found = migrate.migrate(self.folder, self.target)
        (line,) = [line for line in found.left if "workerNode_CP2" in line]
        self.assertEqual(f"{SIMPLE}: add at {NODES}.workerNode_CP2.requirements the "
                         "workerNode_CP2's requirement virtual_link, left open", line)

    def test_a_script_that_keeps_the_contract_stays(self) -> None:
        (self.folder / SCRIPT).write_text("# Contract: tacker-mgmt-drivers\nmy own\n")
        migrate.migrate(self.folder, self.target)
        self.assertIn("my own", self.text(SCRIPT))

    def test_what_is_refused(self) -> None:
        self.target.mkdir()
        (self.target / "x").touch()
        with self.assertRaisesRegex(CsarError, "migrated: is not empty; name another folder"):
            migrate.migrate(self.folder, self.target)
        with self.assertRaisesRegex(CsarError, "no flavour's node VNF has an artifact kubernetes_"):
            migrate.migrate(build.PACKAGES / "private_registry", self.scratch / "other")

    def test_the_command_line(self) -> None:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            self._replace(check_heat, "is_installed", False)
            self.assertEqual(1, main(["package", "verify", str(self.folder)]))
            self.assertEqual(0, main(["package", "migrate", str(self.folder)]))
            self.assertEqual(0, main(["package", "verify", f"{self.folder}-migrated"]))
        self.assertIn(f"to do: {SCRIPT}: move what your own script did", out.getvalue())
        self.assertIn("migrated: no faults, 6 warnings", out.getvalue())


class DocumentTest(PackageTest):
    def test_edits_are_made_together(self) -> None:
        document = Document("a:\n  - x: 1  # one\n\nb:\n  c: old\n  d: {e: 1}\n  f: 2\n")
        self.assertTrue(document.put_first(document.at("a"), "- y:\n"))
        self.assertTrue(document.put_first(document.at("b"), "z:\n  w: 1\n"))
        self.assertFalse(document.put_first(document.at("b", "d"), "g: 1\n"))
        self.assertFalse(document.put_first(document.at("b", "nothing"), "g: 1\n"))
        node = document.at("b", "c")
        assert node
        document.replace(node, "new")
        document.remove(document.at("b"), "d")
        self.assertEqual(
            "a:\n  - y:\n  - x: 1  # one\n\nb:\n  z:\n    w: 1\n  c: new\n  f: 2\n",
            document.edited(),
        )

    def test_the_last_key_is_removed(self) -> None:
        for text in ("a: 1\nb:\n  c: 1\n", "a: 1\nb:\n  c: 1", "a: 1\nb: 2", "a: 1\nb: {c: 1}\n"):
            document = Document(text)
            document.remove(document.at(), "b")
            self.assertEqual("a: 1\n", document.edited(), text)
