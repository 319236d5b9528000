import contextlib
import io
import zipfile

from tools.csar import check_heat, cli
from tools.csar.tests.sample import PackageTest


class CliTest(PackageTest):
    def run_(self, *arguments: object) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = cli.main([str(argument) for argument in arguments])
            except SystemExit as exit_:
                status = int(exit_.code or 0)
        return status, out.getvalue(), err.getvalue()

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
        self.assertEqual(status, 1)
        self.assertIn("error: no_such_package: no such folder", err)

    def test_what_cannot_be_verified(self) -> None:
        csar = self.scratch / "a.zip"
        self.run_("build", self.folder, "-o", csar)
        self.assertIn("over a folder only", self.run_("verify", csar, "--overlay", "storage")[2])
        with zipfile.ZipFile(csar) as archive:
            place = archive.infolist()[0].header_offset + 60
        content = bytearray(csar.read_bytes())
        content[place : place + 20] = bytes(20)
        csar.write_bytes(content)
        status, _, err = self.run_("verify", csar)
        self.assertEqual(1, status)
        self.assertIn("build it again", err)

    def test_usage(self) -> None:
        self.assertEqual(self.run_("build")[0], 2)
        self.assertEqual(self.run_("build", self.folder, "--file", "x")[0], 2)
