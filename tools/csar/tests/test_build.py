import hashlib
import zipfile
from pathlib import Path
from unittest import mock

from tools.csar import build, contents, toscameta
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

    def test_every_other_file_has_its_digest(self) -> None:
        archive = self.build()
        header, blocks = toscameta.parse(archive.read(toscameta.NAME).decode())
        self.assertEqual(header["Entry-Definitions"], "Definitions/private_registry_top.vnfd.yaml")
        expected = {
            name: hashlib.sha256(archive.read(name)).hexdigest()
            for name in archive.namelist()
            if name != toscameta.NAME
        }
        self.assertIn("Definitions/etsi_nfv_sol001_vnfd_types.yaml", expected)
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

    def test_packs_nothing_from_outside(self) -> None:
        secret = self._write("secret", "s3cret")
        link = self.folder / "notes.txt"
        for target in (secret, Path("../secret")):
            link.symlink_to(target)
            with self.assertRaisesRegex(CsarError, f"notes.txt: leads to {secret}, which is not"):
                self.build()
            link.unlink()
        (self.folder / ".env").write_text("s3cret")
        link.symlink_to(".env")
        with self.assertRaisesRegex(CsarError, "notes.txt: leads to "):
            self.build()
        link.unlink()
        link.symlink_to("README.md")
        (self.folder / "README.md").write_text("Its own")
        self.assertEqual(b"Its own", self.build().read("notes.txt"))

    def test_a_link_between_packages_of_the_checkout(self) -> None:
        (self.scratch / "other").mkdir()
        (self.scratch / "other/x.txt").write_text("shared")
        (self.folder / "x.txt").symlink_to("../other/x.txt")
        with self.assertRaisesRegex(CsarError, "x.txt: leads to "):
            self.build()
        with mock.patch.object(contents, "CHECKOUT", self.scratch):
            self.assertEqual(b"shared", self.build().read("x.txt"))
            (self.scratch / "other").rename(self.scratch / ".git")
            (self.folder / "x.txt").unlink()
            (self.folder / "x.txt").symlink_to("../.git/x.txt")
            with self.assertRaisesRegex(CsarError, "x.txt: leads to "):
                self.build()

    def test_names_stay_below_the_folder(self) -> None:
        image = self._write("image", "")
        for name in ("../x", "/x", "a/../x", "a//x", "x\nHash: y"):
            error = r"/image: the name '.*' (is not a path|has control)"
            with self.assertRaisesRegex(CsarError, error):
                self.build(files={name: image})
        (self.folder / "a\nb").touch()
        with self.assertRaisesRegex(CsarError, r"the name 'a\\nb' has control characters"):
            self.build()

    def test_a_driver_is_no_other_file(self) -> None:
        vnfd = self.folder / "Definitions/private_registry_df_simple.yaml"
        name = "../Scripts/../../../secret"
        vnfd.write_text(vnfd.read_text().replace("Scripts/private_registry_mgmt.py", name))
        with self.assertRaisesRegex(CsarError, f"{vnfd.name}: file '{name}' of artifact "):
            self.build()

    def test_refuses_a_faulty_package_and_leaves_nothing(self) -> None:
        (self.folder / "UserData/private_registry_user_data.py").write_text("class (:")
        before = sorted(self.scratch.iterdir())
        with self.assertRaisesRegex(CsarError, "private_registry_user_data.py: not valid Python"):
            self.build()
        self.assertEqual(sorted(self.scratch.iterdir()), before)
