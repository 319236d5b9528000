import hashlib
import zipfile
from pathlib import Path

from tools.csar import build, toscameta
from tools.csar.errors import CsarError
from tools.csar.tests.sample import PackageTest

IMAGE = "Files/images/private_registry.tar"


class BuildTest(PackageTest):
    def build(self, name: str = "a.zip", files: dict[str, Path] | None = None) -> zipfile.ZipFile:
        archive = zipfile.ZipFile(build.build(self.folder, self.scratch / name, files))
        self.addCleanup(archive.close)
        return archive

    def test_same_inputs_give_same_bytes(self) -> None:
        self.build("a.zip")
        for path in self.folder.rglob("*"):
            path.chmod(0o700)
        (self.folder / "Definitions/__pycache__").mkdir()
        (self.folder / "Definitions/__pycache__/x.pyc").write_bytes(b"litter")
        (self.folder / "Definitions/.x.yaml.swp").write_bytes(b"litter")
        (self.folder / "Definitions/x.yaml~").write_bytes(b"litter")
        self.build("b.zip")
        first, second = (self.scratch / name for name in ("a.zip", "b.zip"))
        self.assertEqual(first.read_bytes(), second.read_bytes())

    def test_supplies_the_driver_and_the_types(self) -> None:
        archive = self.build()
        driver = archive.read("Scripts/private_registry_mgmt.py")
        self.assertEqual(driver, self.driver.read_bytes())
        self.assertIn("Definitions/etsi_nfv_sol001_vnfd_types.yaml", archive.namelist())

    def test_every_artifact_has_its_digest(self) -> None:
        archive = self.build()
        header, blocks = toscameta.parse(archive.read(toscameta.NAME).decode())
        self.assertEqual(header["Entry-Definitions"], "Definitions/private_registry_top.vnfd.yaml")
        expected = {
            name: hashlib.sha256(archive.read(name)).hexdigest()
            for name in archive.namelist()
            if name.startswith(("BaseHOT/", "Scripts/", "UserData/"))
        }
        self.assertEqual({block["Name"]: block["Hash"] for block in blocks}, expected)
        self.assertEqual({block["Algorithm"] for block in blocks}, {"SHA-256"})

    def test_scripts_can_be_run(self) -> None:
        (self.folder / "Scripts").mkdir()
        (self.folder / "Scripts/run.sh").write_text("exit 0\n")
        archive = self.build()
        modes = {info.filename: info.external_attr >> 16 & 0o777 for info in archive.infolist()}
        self.assertEqual(modes["Scripts/run.sh"], 0o755)
        self.assertEqual(modes[toscameta.NAME], 0o644)

    def test_adds_a_file_given_by_name(self) -> None:
        image = self.scratch / "image"
        image.write_bytes(b"layers")
        self.assertNotIn(IMAGE, self.build("a.zip").namelist())
        self.assertEqual(self.build("b.zip", {IMAGE: image}).read(IMAGE), b"layers")

    def test_refuses_a_file_that_is_not_there(self) -> None:
        with self.assertRaisesRegex(CsarError, "nowhere: no such file"):
            self.build(files={IMAGE: Path("nowhere")})

    def test_refuses_a_faulty_package_and_leaves_nothing(self) -> None:
        (self.folder / "UserData/private_registry_user_data.py").write_text("class (:")
        before = sorted(self.scratch.iterdir())
        with self.assertRaisesRegex(CsarError, "private_registry_user_data.py: not valid Python"):
            self.build()
        self.assertEqual(sorted(self.scratch.iterdir()), before)
