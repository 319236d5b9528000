import stat
import zipfile
from unittest import mock

from tools.csar import check_heat
from tools.csar.tests.sample import CommandTest


class CliTest(CommandTest):
    def test_build_then_verify(self) -> None:
        csar = self.scratch / "a.zip"
        status, out, _ = self.run_("build", self.folder, "-o", csar)
        self.assertEqual(status, 0)
        self.assertRegex(out, r"a\.zip: \d+ bytes, SHA-256 [0-9a-f]{64}\n")
        self.assertEqual(self.run_("verify", self.folder, csar)[0], 0)

    def test_verify_says_once_that_heat_is_not_there(self) -> None:
        for is_there, lines in ((False, 1), (True, 0)):
            self._replace(check_heat, "is_installed", is_there)
            self._replace(check_heat, "refusal", "")
            status, out, _ = self.run_("verify", self.folder, f"{self.folder}/")
            self.assertEqual((0, lines), (status, out.count(check_heat.NOT_INSTALLED)))

    def test_verify_lists_the_faults_of_every_package(self) -> None:
        (self.folder / "TOSCA-Metadata/TOSCA.meta").unlink()
        status, out, _ = self.run_("verify", self.folder, f"{self.folder}/")
        self.assertEqual((status, out.count("TOSCA.meta: missing")), (1, 2))

    def test_an_error_says_what_is_wrong(self) -> None:
        status, _, err = self.run_("build", "no_such_package")
        self.assertEqual(status, 2)
        self.assertIn("no_such_package: no such folder, here or in ", err)
        status, _, err = self.run_("build", self.folder, "--vnfd-id", "notauuid")
        self.assertEqual(2, status)
        self.assertIn("'notauuid': a UUID is needed, such as ", err)

    def test_what_cannot_be_verified(self) -> None:
        csar = self.scratch / "a.zip"
        self.run_("build", self.folder, "-o", csar)
        status, _, err = self.run_("verify", csar, "--overlay", "storage")
        self.assertEqual(2, status)
        self.assertIn("over a folder only", err)
        with zipfile.ZipFile(csar) as archive:
            place = archive.infolist()[0].header_offset + 60
        content = bytearray(csar.read_bytes())
        content[place : place + 20] = bytes(20)
        csar.write_bytes(content)
        status, _, err = self.run_("verify", csar)
        self.assertEqual(1, status)
        self.assertIn("build it again", err)

    def test_entries_of_a_csar_that_are_refused(self) -> None:
        csar = self.scratch / "a.zip"
        link, device = zipfile.ZipInfo("Files/link"), zipfile.ZipInfo("Files/device")
        link.external_attr, device.external_attr = stat.S_IFLNK << 16, stat.S_IFBLK << 16
        packed = zipfile.ZipInfo("Files/packed")
        packed.compress_type = zipfile.ZIP_BZIP2
        for entry, error in (
            ("../x", "'../x' is not a path below"), ("/x", "'/x' is not a path below"),
            ("a\nb", r"'a\nb' has control characters"),
            (link, "'Files/link' is a link or a device"), (device, "is a link or a device"),
            (packed, "'Files/packed' is not compressed by deflate"),
        ):
            with zipfile.ZipFile(csar, "w") as archive:
                archive.writestr(entry, "")
            status, _, err = self.run_("verify", csar)
            self.assertEqual((1, f"error: {csar}: "), (status, err[: len(f"error: {csar}: ")]))
            self.assertIn(error, err)

    def test_a_csar_has_limits(self) -> None:
        csar = self.scratch / "a.zip"
        for number, size in ((10_001, 0), (1, (32 << 30) + 1)):
            with zipfile.ZipFile(csar, "w") as archive:
                for name in range(number):
                    archive.writestr(str(name), "")
                archive.filelist[0].file_size = size  # a lie in the directory
            status, _, err = self.run_("verify", csar)
            self.assertEqual(1, status)
            self.assertIn(f"has {number} entries of {size} bytes; at most 10000 of ", err)

    def test_a_package_that_exhausts_its_reader(self) -> None:
        vnfd = "Definitions/private_registry_df_simple.yaml"
        data = "UserData/private_registry_user_data.py"
        csar = self.scratch / "a.zip"
        for name, text, error in (
            (vnfd, " " * (4 << 20) + "x", "larger than 4 MiB"),
            (data, " " * (4 << 20) + "x", "larger than 4 MiB"),
            (data, "-" * 20000, "not valid Python ("),
            (data, "x = " + "1+" * 100000 + "1", "not valid Python ("),
        ):
            with zipfile.ZipFile(csar, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(name, text)
            with mock.patch.object(zipfile.Path, "read_bytes", side_effect=MemoryError):
                status, out, err = self.run_("verify", csar)
            self.assertEqual(1, status)
            self.assertIn(error, out + err)

    def test_yaml_that_has_itself_in_it(self) -> None:
        for place in ("base: &x {y: *x}", "get_param: &x [*x]"):
            with self.subTest(place):
                (self.folder / "BaseHOT/simple/private_registry.yaml").write_text(
                    f"resources: {{a: {{properties: {{{place}}}}}}}"
                )
                status, _, err = self.run_("verify", self.folder)
                self.assertEqual(1, status)
                self.assertIn("error: a package's YAML is nested too deeply", err)

    def test_usage(self) -> None:
        self.assertEqual(self.run_("build")[0], 2)
        self.assertEqual(self.run_("build", self.folder, "--file", "x")[0], 2)
